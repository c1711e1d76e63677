"""`script/bench soak [--minutes 60] [--events 5] [--reminders 300] [--json]`: what grows while load is steady.

A web process, a worker and a beat, as in production. Reminders ring once a minute each; events are published over the
API, so many a second, and each rings by a rule; a person's lists, pages, the admin and `/metrics` are read in turn.
Everything rings at one receiver, which writes down what arrives.

Every 15 s: memory (PSS), file descriptors and threads of each process, connections to PostgreSQL, what Redis uses,
the size of tables whose rows are only changed, and the most dead rows of a table, which PostgreSQL clears away at
20,000. `an hour` is the slope of a line through the second half of the samples. Exit status 1 if anything was lost or
doubled, a request failed, or a process ended.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import requests
from redis import Redis

from bench.environment import arguments, report
from bench.home import memory, tree
from bench.upgrade import sink
from demo.installation import Installation, wait_until

_EVERY = 15.0  # seconds between samples
_SETTLES_WITHIN = 120.0  # seconds, at the end
_METRICS = "carillon-bench"
_PAGES = (
    *("/reminders/", "/reminders/week/", "/history/", "/inbox/", "/events/", "/channels/", "/settings/activity/"),
    *("/admin/", "/admin/notifications/delivery/", "/admin/schedules/schedule/", "/admin/health/"),
)
_DATABASE = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) AS connections,
       (SELECT max(n_dead_tup) FROM pg_stat_user_tables)::int AS dead_rows_of_a_table,
       (SELECT sum(pg_total_relation_size(relid)) / 1024.0 FROM pg_stat_user_tables
         WHERE relname IN ('schedules_schedule', 'django_celery_beat_periodictask', 'notifications_channel'))::float
       AS changed_tables_kib
"""
_PAUSE = "UPDATE schedules_schedule SET state = 'paused', next_fire_at = NULL RETURNING id"
_OPEN = """
SELECT (SELECT count(*) FROM notifications_delivery WHERE settled_at IS NULL)
     + (SELECT count(*) FROM events_event WHERE settled_at IS NULL) AS n
"""
_FIRED = """
SELECT s.id::text AS id, count(o.id) AS n
  FROM schedules_schedule s LEFT JOIN schedules_occurrence o ON o.schedule_id = s.id AND o.outcome = 'fired' GROUP BY 1
"""


def main() -> int:
    parser = arguments("soak")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--events", type=float, default=5.0, help="a second")
    parser.add_argument("--reminders", type=int, default=300, help="each once a minute")
    options = parser.parse_args()
    settings = dict.fromkeys(("API_REQUESTS_PER_MINUTE", "SENDS_PER_PERSON_PER_DAY", "WEBHOOKS_PER_SECOND"), "0")
    settings |= {"METRICS_TOKEN": _METRICS, "EVENTS_PER_PERSON_PER_DAY": "0", "LOG_LEVEL": "WARNING"}
    with (
        tempfile.TemporaryDirectory() as folder,
        sink(Path(folder) / "arrivals") as port,
        Installation("bench_soak", **settings) as site,
    ):
        os.environ |= site.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        token, cookie = make_people(f"http://127.0.0.1:{port}/ok/bench", options.reminders)
        children = (site.web, site.worker, site.beat)
        site.start(*children)
        load = Load(site.url, token, cookie, options.events)
        began = time.time()
        samples = list(sampled(site, began + options.minutes * 60))
        load.stop()
        due = time.time() - 5.0  # of the last seconds, slots may come or not
        site.rows(_PAUSE)
        wait_until(lambda: not site.rows(_OPEN)[0]["n"], "The end of all work", _SETTLES_WITHIN)
        ended = [child.name for child in children if child.exit_status() is not None]
        arrived = Counter(line.split()[4] for line in (Path(folder) / "arrivals").read_text().splitlines())
        fired = {row["id"]: row["n"] for row in site.rows(_FIRED)}
    lost, doubled = judge(load.published, arrived, fired, int((due - began) / 60) - 2)
    figures = {
        "minutes": options.minutes,
        "arrived": sum(arrived.values()),
        "lost": len(lost),
        "doubled": len(doubled),
        "requests": load.requests,
        "failed": len(load.failed),
    }
    print(
        *load.failed[:10],
        *(f"lost: {one}" for one in lost[:10]),
        *(f"doubled: {one}" for one in doubled[:10]),
        sep="\n",
    )
    print(*(f"{name} has ended" for name in ended), sep="\n")
    report("soak", 1, figures, {name: grown(values) for name, values in samples_by_name(samples).items()}, {})
    return int(bool(lost or doubled or load.failed or ended))


def make_people(url: str, reminders: int) -> tuple[str, str]:
    """A person with so many reminders and a rule, who is an operator too; returns a token and a session's key."""
    import django

    django.setup()
    from django.db import connection
    from django.test import Client

    from bench.rows import WEBHOOK_SECRET, make_channel, make_schedule, make_user
    from events.models import Rule
    from people import tokens
    from people.models import User
    from schedules.firing import fire

    user = make_user()
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    channel = make_channel(user, "webhook", {"url": url}, {"secret": WEBHOOK_SECRET})
    rule = Rule.objects.create(user=user, name="Events", type_pattern="soak.rang", title="{data.title}")
    rule.channels.add(channel)
    now = fire.read_clock().now.replace(microsecond=0)
    for number in range(reminders):
        anchor = now + timedelta(seconds=60 + number * 60 / reminders)
        made = make_schedule(
            user, [channel], "interval", {"every": 1, "unit": "minutes", "anchor": anchor.isoformat()}, now
        )
        made.title = str(made.id)
        made.save(update_fields=["title"])
    client = Client(HTTP_HOST="127.0.0.1")
    client.force_login(User.objects.get(pk=user.pk))
    connection.close()
    return tokens.create(user, "Bench", list(tokens.SCOPES), None)[1], client.cookies["sessionid"].value


class Load:
    """Publishes events and reads pages, each in a thread, at a steady pace until it is stopped."""

    def __init__(self, url: str, token: str, cookie: str, rate: float) -> None:
        self.published, self.requests, self.failed = list[str](), 0, list[str]()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._publish, args=(f"{url}/api/v1/events", token, 1 / rate)),
            threading.Thread(target=self._read, args=(url, token, cookie)),
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _publish(self, url: str, token: str, pace: float) -> None:
        session = requests.Session()
        session.headers["Authorization"] = f"Bearer {token}"
        for number in itertools.count():
            began, title = time.monotonic(), f"event-{number}"
            if self._ask(session.post, url, json={"type": "soak.rang", "data": {"title": title}}):
                self.published.append(title)
            if self._over.wait(max(0.0, began + pace - time.monotonic())):
                return

    def _read(self, url: str, token: str, cookie: str) -> None:
        signed_in = {"cookies": {"sessionid": cookie}}
        pages: list[tuple[str, dict[str, Any]]] = [(path, signed_in) for path in _PAGES]
        pages.append(("/metrics", {"headers": {"Authorization": f"Bearer {_METRICS}"}}))
        pages.append(("/api/v1/notifications", {"headers": {"Authorization": f"Bearer {token}"}}))
        session = requests.Session()
        for path, options in itertools.cycle(pages):
            self._ask(session.get, url + path, allow_redirects=False, **options)
            if self._over.wait(0.5):
                return

    def _ask(self, method: Any, url: str, **options: Any) -> bool:
        self.requests += 1
        try:
            answer = method(url, timeout=30, **options)
        except requests.RequestException as error:
            self.failed.append(f"{url}: {type(error).__name__}")
            return False
        if answer.status_code >= 300:
            self.failed.append(f"{url}: {answer.status_code}")
        return bool(answer.ok)


Sample = dict[str, float]


def sampled(site: Installation, until: float) -> Iterator[tuple[float, Sample]]:
    """Samples with the seconds since 1970."""
    redis = Redis.from_url(site.redis_url)
    while (now := time.time()) < until:
        sample = {name.replace("_", " "): float(value) for name, value in site.rows(_DATABASE)[0].items()}
        used = redis.info()
        sample |= {"Redis MiB": used["used_memory"] / 2**20, "Redis clients": used["connected_clients"]}
        for child in (site.web, site.worker, site.beat):
            pids = tree(child.pid)
            sample[f"{child.name} MiB"] = sum(memory(pid)[0] for pid in pids) / 1024
            for what, name in (("fd", "descriptors"), ("task", "threads")):
                sample[f"{child.name} {name}"] = sum(len(os.listdir(f"/proc/{pid}/{what}")) for pid in pids)
        yield now, sample
        time.sleep(_EVERY)


def samples_by_name(samples: list[tuple[float, Sample]]) -> dict[str, list[tuple[float, float]]]:
    found = defaultdict(list)
    for at, sample in samples:
        for name, value in sample.items():
            found[name].append((at, value))
    return found


def grown(values: list[tuple[float, float]]) -> dict[str, float]:
    """The value after a quarter, at the middle and at the end, each a median, and the slope of the second half."""
    quarter = max(1, len(values) // 4)
    parts = [values[part * quarter :][:quarter] for part in range(4)]
    late = values[len(values) // 2 :]
    slope = statistics.linear_regression(*zip(*late, strict=True)).slope * 3600 if len(late) > 1 else 0.0
    middles = [round(statistics.median(value for _, value in part), 1) for part in parts if part]
    return {**{f"quarter {number}": value for number, value in enumerate(middles, 1)}, "an hour": round(slope, 2)}


def judge(
    published: list[str], arrived: Counter[str], fired: dict[str, int], slots: int
) -> tuple[list[str], list[str]]:
    """What is missing at the receiver, and what came once too often; `slots`: as many each reminder has at least."""
    expected = {f"reminder {key}": (max(count, slots), arrived[key], count) for key, count in fired.items()}
    expected |= {title: (1, arrived[title], 1) for title in published}
    lost = [f"{name}: {came} of {least}" for name, (least, came, _) in expected.items() if came < least]
    doubled = [f"{name}: {came} of {most}" for name, (_, came, most) in expected.items() if came > most]
    return lost, doubled


if __name__ == "__main__":
    sys.exit(main())
