"""The cell of one person who does, at once and again and again, what costs the most, and of 200 others meanwhile.

During the first half of the load the others are alone, so that their times can be compared on a busy machine.
"""

from __future__ import annotations

import json
import random
import select
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connection, transaction
from django.db.models import Min
from django.utils import timezone

from bench.faults.scene import Scene, wait_for
from bench.faults.workload import RULES, Asked, Workload, channel_at, once_at, paths_of
from bench.rows import WEBHOOK_SECRET, make_channel, make_user
from common.database import encryption
from common.database.encryption import hashed
from common.database.postgres import persist
from events.models import InboundAddress, Rule
from events.pure.envelope import Envelope
from jobs.models import Connection
from notifications.messages.message import Destination
from notifications.messages.text import MAX_PLACEHOLDERS
from people import tokens
from people.account import deletion
from people.models import User
from people.sign_in.sessions import SessionStore
from people.user_lock import Busy
from schedules.models import Schedule

PEOPLE = 200
LATEST = 3.0  # seconds: the p99 of others
SLOWEST = 2.0  # seconds: any of their pages
_PAGES = ("/reminders/", "/history/", "/inbox/", "/healthz")
_LATENESS = """
SELECT percentile_disc(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM d.created_at - n.slot)) AS recorded,
       percentile_disc(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM coalesce(a.at, now()) - n.slot))
           AS claimed,
       percentile_disc(ARRAY[0.5, 0.99]) WITHIN GROUP (
           ORDER BY extract(epoch FROM coalesce(d.settled_at, now()) - n.slot)) AS settled
  FROM notifications_delivery d JOIN notifications_notification n ON n.id = d.notification_id
  LEFT JOIN LATERAL (SELECT min(started_at) AS at FROM notifications_attempt WHERE delivery_id = d.id) a ON true
 WHERE n.user_id <> %s AND n.origin = 'schedule' AND n.slot >= %s AND n.slot < %s
"""
_STAGES = ("recorded", "claimed", "settled")
_JSON = {"Content-Type": "application/json"}
Act = Callable[[], int]


@dataclass(frozen=True, slots=True)
class PersonWorkload(Workload):
    """Reminders of many people, over twice the time: alone, then beside the person who is returned."""

    @property
    def seconds(self) -> float:
        return 2 * max(self.least if self.deliveries >= 2_000 else 15.0, self.deliveries / self.rate)

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        rng, paths = random.Random(self.seed), paths_of("ok")
        titles = [f"ok-{number}" for number in range(self.deliveries // len(RULES))]
        people = [make_user() for _ in range(PEOPLE)]
        channels = [[channel_at(person, path, sink_port) for path in paths] for person in people]
        begin = timezone.now() + timedelta(seconds=2)
        slots = [begin, *(begin + timedelta(seconds=rng.uniform(0, self.seconds)) for _ in titles[1:])]
        rows = [once_at(people[n % PEOPLE], titles[n], slot) for n, slot in enumerate(slots)]
        _save((row, channels[n % PEOPLE]) for n, row in enumerate(rows))
        return {Asked(title, path) for title in titles for path in paths}, make_user(), []


def misuse(scene: Scene) -> None:
    """Everything at once by one person; meanwhile others open pages."""
    cluster, half = scene.cluster, scene.seconds / 2
    began: datetime = Schedule.objects.aggregate(at=Min("next_fire_at"))["at"]
    middle = began + timedelta(seconds=half)
    person = User.objects.latest("pk")
    prober = Prober(list(User.objects.order_by("pk")[: len(_PAGES)]), cluster.web_port)
    with _source() as source_port, prober.running("alone"):
        act = Misuse(person, cluster.web_port, source_port)
        act.prepare(middle, half, scene.rng)
        time.sleep(max(0.0, (middle - timezone.now()).total_seconds()))
        before = {child.name: child.pid for child in (*cluster.workers, cluster.web)}
        prober.phase = "beside"
        act.go(half)
        prober.phase = "after"
        ended = [child.name for child in (*cluster.workers, cluster.web) if child.pid != before[child.name]]
        _judge(scene, person, began, middle, half, prober, ended)
        scene.notes.extend(f"{name}: {dict(answers)}" for name, answers in sorted(act.answers.items()))
    _delete(scene, person)


def _judge(
    scene: Scene, person: User, began: datetime, middle: datetime, half: float, prober: Prober, ended: list[str]
) -> None:
    late = Schedule.objects.exclude(user=person).filter(state="active")
    wait_for(lambda: not late.exists(), 60.0)
    with connection.cursor() as cursor:
        found = {}
        for name, start in (("alone", began), ("beside", middle)):
            cursor.execute(_LATENESS, [person.pk, start, start + timedelta(seconds=half)])
            stages = cursor.fetchone()
            found[name] = float(stages[-1][-1])
            shown = ", ".join(
                f"{what} {p50:.2f} and {p99:.2f} s" for what, (p50, p99) in zip(_STAGES, stages, strict=True)
            )
            scene.notes.append(f"{name}, p50 and p99 since the slot: {shown}")
    slowest = {name: max(times, default=(0.0, "")) for name, times in prober.times.items()}
    shown = ", ".join(f"{name} {seconds:.2f} s ({page})" for name, (seconds, page) in slowest.items())
    scene.notes.append(f"slowest pages: {shown}")
    if found["beside"] > LATEST:
        scene.problems.append(f"others' p99 was {found['beside']:.1f} s ({found['alone']:.1f} s alone)")
    slow = [one for one in prober.times["beside"] if one[0] > SLOWEST]
    if slow:
        scene.problems.append(f"{len(slow)} of {len(prober.times['beside'])} pages took over {SLOWEST:.0f} s: {shown}")
    scene.problems.extend([*(f"{name} was ended" for name in ended), *prober.refused])


def _delete(scene: Scene, person: User) -> None:
    """What they have made is judged by nobody."""
    wait_for(lambda: _requests_deletion(person), 60.0)
    if not wait_for(lambda: persist(deletion.delete_requested) >= 0 and not _exists(person), 120.0):
        scene.problems.append("the person's account was not deleted")


def _requests_deletion(person: User) -> bool:
    try:
        persist(lambda: deletion.request(person))
    except Busy:  # what is left of their work holds the lock: a person would try again
        return False
    return True


def _exists(person: User) -> bool:
    return User.objects.filter(pk=person.pk).exists()


class Prober:
    """Opens each page once a second, each as another one who has signed in, since two pages of one wait for each other.

    `times` by phase: seconds, and the page.
    """

    def __init__(self, users: list[User], port: int) -> None:
        self.port, self.phase = port, ""
        self.cookies = dict(zip(_PAGES, map(signed_in, users), strict=True))
        self.times: dict[str, list[tuple[float, str]]] = defaultdict(list)
        self.refused: list[str] = []
        self._ended = threading.Event()

    @contextmanager
    def running(self, phase: str) -> Iterator[None]:
        self.phase = phase
        threads = [threading.Thread(target=self._probe, args=[page]) for page in _PAGES]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def _probe(self, page: str) -> None:
        while not self._ended.wait(1.0):
            phase, start = self.phase, time.monotonic()
            status = call(self.port, "GET", page, headers={"Cookie": self.cookies[page]})
            self.times[phase].append((time.monotonic() - start, page))
            if status != 200:
                self.refused.append(f"{page} answered {status or 'nothing'} ({phase})")


class Misuse:
    """`answers`: how often each act got which status; 0 for none."""

    def __init__(self, person: User, port: int, source_port: int) -> None:
        self.person, self.port, self.source = person, port, f"http://localhost:{source_port}"
        self.inbox, self.cookie = make_channel(person), signed_in(person)
        scopes = ["schedules", "events"]
        self.tokens = [tokens.create(person, f"T{number}", scopes, None)[1] for number in range(10)]
        self.answers: dict[str, Counter[int]] = defaultdict(Counter)
        self.own: list[str] = []

    def prepare(self, start: datetime, seconds: float, rng: random.Random) -> None:
        """Rows that make work while the others' second half lasts, and what the acts need."""
        calendars = [self._calendar("/huge")] * 2 + [self._calendar("/small") for _ in range(45)]
        jobs: list[dict[str, Any]] = [
            {
                "job_kind": "calendar_sync",
                "job_payload": {"minutes": 10, "all_day_at": "09:00", "alarms": True, "tell": False},
                "connection": one,
            }
            for one in calendars
        ]
        jobs += [_watch(f"{self.source}/silent")] * 80 + [_watch(f"{self.source}/large")] * 10
        plain = [once_at(self.person, f"own-{n}", start + timedelta(days=9)) for n in range(200)]
        self.own = [str(row.id) for row in plain]
        work = [
            once_at(self.person, f"job-{n}", start + timedelta(seconds=rng.uniform(0, seconds / 3)), **job)
            for n, job in enumerate(jobs)
        ]
        _save((row, [self.inbox]) for row in (*plain, *work))
        for number in range(50):
            rule = Rule.objects.create(
                user=self.person,
                name=f"Rule {number}",
                type_pattern="*",
                title="{type}",
                body="{data.a} " * MAX_PLACEHOLDERS,
            )
            rule.channels.set([self.inbox])
        token = "ab" * 24
        address = InboundAddress(user=self.person, hashed=hashed(token), label="Loop")
        address.sealed_secrets = encryption.seal_secrets({"token": token, "secret": ""}, address.id)
        address.save()
        self.inbound = f"/in/{token}"
        loop = {"url": f"http://localhost:{self.port}{self.inbound}", "types": ["delivery.*", "notification.*"]}
        make_channel(self.person, "status", loop, {"secret": WEBHOOK_SECRET})  # type: ignore[arg-type]

    def go(self, seconds: float) -> None:
        """Each act again and again, two to eight at a time."""
        large = {"type": "cost.large", "source": "cost", "data": {"a": "x" * 120_000}}
        alert = {"status": "firing", "labels": {"alertname": "A"}, "startsAt": "2026-06-01T11:00:00Z"}
        alerts = {"version": "4", "alerts": [alert | {"fingerprint": f"{n:016x}"} for n in range(1_500)]}
        many = json.dumps(alerts)
        watch, silent = _watch(f"{self.source}/large"), _watch(f"{self.source}/silent")
        huge = {"kind": "calendar_sync", "connection_id": str(self.calendar.id)}
        bulk = [{"ids": self.own, "action": action} for action in ("pause", "resume")]
        acts: dict[str, tuple[int, Act]] = {
            "H1 check": (2, lambda: self._api("/schedules/check", {"job": huge})),
            "H2 bulk": (8, lambda: self._api("/schedules/bulk", random.choice(bulk))),
            "H2 import": (2, self._import),
            "H4, H7 event": (4, lambda: self._api("/events", large)),
            "H5 check": (2, lambda: self._api("/schedules/check", {"job": _asked(watch)})),
            "H6 head": (2, self._endless_head),
            "M4 alerts": (2, lambda: call(self.port, "POST", self.inbound, many, _JSON)),
            "M6 check": (4, lambda: self._api("/schedules/check", {"job": _asked(silent)})),
        }
        end = time.monotonic() + seconds

        def repeat(name: str, act: Act) -> None:
            while time.monotonic() < end:
                status = act()
                self.answers[name][status] += 1
                time.sleep(0.05 if status < 400 else 0.25)  # of one program that does not give up

        with ThreadPoolExecutor(64) as pool:
            done = [pool.submit(repeat, name, act) for name, (times, act) in acts.items() for _ in range(times)]
        for one in done:
            one.result()

    def _calendar(self, path: str) -> Connection:
        self.calendar = Connection(user=self.person, kind="calendar", label=path, verified_at=timezone.now())
        self.calendar.hold(Destination({}, {"url": f"{self.source}{path}"}))
        self.calendar.save()
        return self.calendar

    def _api(self, path: str, body: Any) -> int:
        headers = _JSON | {"Authorization": f"Bearer {random.choice(self.tokens)}"}
        return call(self.port, "POST", f"/api/v1{path}", json.dumps(body), headers)

    def _import(self) -> int:
        rule = {"rrule": {"rule": "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU;INTERVAL=2"}}
        reminders = [
            {"title": f"{random.random()}", "timing": rule, "channels": [str(self.inbox.id)]} for _ in range(150)
        ]
        content = json.dumps({"format": "carillon", "version": 1, "reminders": reminders})
        secret = "a" * 32
        cookie = f"{self.cookie}; {settings.CSRF_COOKIE_NAME}={secret}"
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie, "X-CSRFToken": secret}
        return call(self.port, "POST", "/settings/import/", urlencode({"content": content}), headers)

    def _endless_head(self) -> int:
        """A header of up to 80 MB, until it is refused."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=10) as line:
            line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
            for _ in range(800):
                if select.select([line], [], [], 0.0)[0]:
                    return int(line.recv(4096).split(b" ", 2)[1])
                line.sendall(b"x" * 100_000)
            return 200
        return 0


def call(port: int, method: str, path: str, body: str = "", headers: dict[str, str] | None = None) -> int:
    """The status, after the whole answer was read; 0 where there is none."""
    line = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request(method, path, body.encode() or None, headers or {})
        answer = line.getresponse()
        answer.read()
    except (OSError, HTTPException):
        return 0
    finally:
        line.close()
    return answer.status


def signed_in(user: User) -> str:
    """The cookie of a session."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


def _save(rows: Any) -> None:
    """Schedules with their channels, in one transaction: on a slow machine the first are due before the last exist."""
    found, through = list(rows), Schedule.channels.through
    links = [through(schedule_id=row.id, channel_id=one.id) for row, channels in found for one in channels]
    with transaction.atomic():
        Schedule.objects.bulk_create([row for row, _ in found], batch_size=1000)
        through.objects.bulk_create(links, batch_size=1000)


def _watch(url: str) -> dict[str, Any]:
    eight = f"[{','.join('@' * 8)}]"
    how = {"condition": "changed", "how": "json", "expression": " | ".join([eight] * 3), "limit": "", "mark": ""}
    return {"job_kind": "web_value", "job_payload": {"url": url} | how}


def _asked(watch: dict[str, Any]) -> dict[str, Any]:
    return {"kind": watch["job_kind"], "payload": watch["job_payload"]}


def _calendar(masters: int, uids: int) -> bytes:
    """Of each UID so many masters, and as many overrides."""
    head = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//bench//\r\n"
    event = "BEGIN:VEVENT\r\nUID:{}\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20270101T090000Z\r\n{}END:VEVENT\r\n"
    extra = [
        "RRULE:FREQ=DAILY\r\n",
        *(f"RECURRENCE-ID:202701{n % 28 + 1:02}T090000Z\r\n" for n in range(masters)),
    ]
    events = [event.format(uid, extra[0]) for uid in range(uids) for _ in range(masters)]
    events += [event.format(uid, one) for uid in range(uids) for one in extra[1:]]
    return f"{head}{''.join(events)}END:VCALENDAR\r\n".encode()


@contextmanager
def _source() -> Iterator[int]:
    """Serves calendars and two megabytes of JSON, and never answers for /silent. Yields its port."""
    pages = {"/huge": _calendar(2_500, 1), "/small": _calendar(1, 20), "/large": json.dumps(["x"] * 400_000).encode()}
    closing = threading.Event()

    class Source(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/silent":
                closing.wait(60.0)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(pages[self.path])))
            self.end_headers()
            self.wfile.write(pages[self.path])

        def log_message(self, format: str, *args: Any) -> None:
            return

    ThreadingHTTPServer.request_queue_size = 256
    server = ThreadingHTTPServer(("127.0.0.1", 0), Source)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
