"""The command line against a real web process."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from carillon_client import Client, command
from django.utils import timezone

from events.models import FlowSettings
from jobs.models import Job
from locks import leases
from locks.models import Lock
from notifications.models import Notification
from people.models import User
from tests.make import check, happen, make_channel, make_delivery, make_rule
from tests.process.conftest import wait_until
from tests.process.web import Web
from watches import pings
from watches.models import Watch

pytestmark = pytest.mark.django_db(transaction=True)

CLIENT = Path(__file__).parents[3] / "client"


def carillon(*arguments: str, home: Path, given: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """The command in this process: a new one takes a second to start. See `started`."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        patch.setattr("sys.stdin", StringIO(given))
        for name in ("CARILLON_URL", "CARILLON_TOKEN"):
            patch.delenv(name, raising=False)
        for name, value in ({"XDG_CONFIG_HOME": str(home)} | variables).items():
            patch.setenv(name, value)
        try:
            status = command.main(arguments)
        except SystemExit as ended:
            status = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def test_the_commands(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    make_delivery(make_channel(ada, "webhook"), state="dead")
    make_channel(ada, label="Inbox")
    other = make_channel(ada, "webhook", label="Phone")

    def run(*arguments: str) -> Any:
        known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
        done = carillon(*arguments, home=tmp_path, **known)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    made = run("add", "Water the plants", "--every", "sunday 18:00", "--zone", "Europe/Berlin", "--json")
    assert (made["timing"], made["schedule_type"]) == ({"weekly": {"time": "18:00", "days": [6]}}, "weekly")
    assert run("add", "Rent", "--cron", "0 9 1 * *", "--key", "rent") == run(
        "add", "Rent", "--cron", "0 9 1 * *", "--key", "rent"
    )
    assert run("add", "Tax", "--once", "2090-03-15 09:00", "--json")["timing"] == {
        "once": {"at": "2090-03-15T09:00:00"}
    }
    beer = run("add", "Beer every 2 weeks on Friday 16:00 until March 2090", "--zone", "Europe/Berlin", "--json")
    assert (beer["title"], beer["ends_at"]) == ("Beer", "2090-02-28T23:59:00")
    assert [one["title"] for one in run("list", "--json")] == ["Beer", "Tax", "Rent", "Water the plants"]
    assert run("list", "--search", "plants").count("\n") == 1
    sent = run("send", "Done", "--channel", "inbox", "--json")
    assert len(sent["delivery_ids"]) == 1
    event = "0f0c2a52-6f0f-4f2a-9d0e-3b0f4b5e6a71"
    assert run("publish", "order.paid", "--data", '{"order_id": 7}', "--id", event, "--json") == {"id": event}
    make_rule(ada, name="Orders")
    assert "Orders: order.*; on" in run("rules")
    assert run("batches") == "No batches.\n"
    assert "channels: 2" in run(
        *("send", "Later", "--at", (timezone.now() + timedelta(days=1)).isoformat(), "--body", "Soon.", "--urgent"),
        *("--channel", "Inbox", "--channel", str(other.id)),
    )
    later = Notification.objects.get(subject="Later")
    assert (later.body, later.urgent) == ("Soon.", True)
    assert run("events") == f"{event}  order.paid: pending\n"
    assert run("events", "--type", "other.came", "--json") == []
    assert run("trace", event).split() == ["0.000", "s", "events", "order.paid:", "pending"]
    assert [row["id"] for row in run("trace", event, "--json")["items"]] == [event]
    assert run("topology").startswith("order.paid → Orders → Email (0 waiting, 0 dead)")
    assert run("events", "--dead") == "No events.\n"
    assert run("runs") == "No runs.\n"
    FlowSettings.objects.create(user=ada, flow="incident", settings={"channels": [str(other.id)]})
    happen(ada, type="alert.raised", data={"key": "disk", "title": "Disk full"})
    [incident] = run("incidents", "--phase", "open", "--json")
    assert run("runs", "--flow", "incident") == f"{incident['id']}  incident: Disk full; open\n"
    assert run("acknowledge", incident["id"]) == "Acknowledged: Disk full\n"
    assert run("resolve", incident["id"]) == "Resolved: Disk full\n"
    [letter] = run("dead-letters", "--json")
    assert letter["state"] == "dead"
    assert run("dead-letters", "--cause", "nothing").count("\n") == 1
    assert [one["replayed"] + one["stale"] for one in run("dead-letters", "--replay", "--json").values()] == [1]


def test_what_a_command_makes_another_undoes(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    make_channel(ada, label="Inbox")

    def run(*arguments: str) -> str:
        done = carillon(*arguments, home=tmp_path, **known)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    made = json.loads(run("add", "call Ada tomorrow 9am", "--json"))
    assert (made["title"], made["schedule_type"]) == ("call Ada", "once")
    assert run("pause", "Call ada").startswith(f"Paused: {made['id']}  call Ada")
    assert run("list", "--state", "paused").count("\n") == 1
    assert run("resume", made["id"]).startswith("Resumed: ")
    batch, _, said = run("run", "call Ada").partition("  ")
    assert said.startswith("fired: ")
    assert run("cancel", batch) == f"{batch}  cancelled; not sent: 1\n"
    explained = run("explain", "call Ada").splitlines()
    assert ["coming" in line for line in explained] == [True, False] and "fired" in explained[1]
    refused = carillon("delete", "call Ada", home=tmp_path, **known)
    assert (refused.returncode, refused.stdout, "--yes" in refused.stderr) == (2, "", True)
    assert f"carillon restore {made['id']}" in run("delete", "call Ada", "--yes")
    assert run("list") == "No reminders.\n"
    assert made["id"] in run("restore", made["id"])
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    later = json.loads(run("send", "Later", "--at", tomorrow, "--json"))
    assert run("cancel", later["id"]) == f"{later['id']}  dropped\n"
    assert run("channels").split()[1:3] == ["Inbox:", "inbox,"]
    assert run("topics") == "No topics.\n"
    types = [json.loads(line)["type"] for line in run("changes", "--types", "schedule.*", "--json").splitlines()]
    assert types[:3] == ["schedule.created", "schedule.paused", "schedule.resumed"] and "schedule.fired" in types
    assert f"schedule_id {made['id']}" in run("changes")


def test_watches(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    make_channel(ada, label="Inbox")

    def run(*arguments: str) -> str:
        done = carillon("watch", *arguments, home=tmp_path, **known)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    line, address = run("add", "Nightly backup", "--every", "1 day", "--tag", "db").splitlines()
    watch = Watch.objects.get()
    assert (line.split()[0], watch.period, watch.grace) == (str(watch.id), 86_400, 3600)
    assert address.endswith(f"/ping/{watch.token}")
    made = json.loads(
        run("add", "Dump", "--every", "day 02:00", "--zone", "Europe/Berlin", "--longest-run", "30 minutes", "--json")
    )
    assert (made["timing"], made["period"], made["longest_run"]) == ({"daily": {"time": "02:00"}}, None, 1800)
    by_cron = json.loads(run("add", "Cron", "--cron", "0 2 * * *", "--json"))
    assert by_cron["timing"]["cron"]["expression"] == "0 2 * * *"
    refused = carillon("watch", "add", "X", "--every", "1 day", "--grace", "day 02:00", home=tmp_path, **known)
    assert (refused.returncode, "not a length of time" in refused.stderr) == (2, True)
    assert run("list").count("\n") == 3
    assert run("list", "--tag", "db") == f"{line}\n"
    assert run("pings", "nightly backup") == "No pings yet.\n"
    assert run("output", "nightly backup") == "No ping has output.\n"
    assert pings.record([pings.NewPing(watch.token, "fail", 2, output="no space\nleft", size=13)]) == ["taken"]
    assert run("pings", str(watch.id)).endswith("fail, exit code 2, 13 bytes\n")
    assert run("output", "Nightly backup") == "no space\nleft\n"
    assert run("pause", "Nightly backup", "--until-ping").startswith(f"Paused: {watch.id}")
    assert "next ping by" in run("resume", "Nightly backup")
    assert f"carillon watch restore {watch.id}" in run("delete", "Nightly backup")
    assert run("restore", str(watch.id)).startswith(f"Restored: {watch.id}")


def _heed_ctrl_c() -> None:
    """A shell's job in the background ignores it, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def started(*arguments: str, home: Path, stdin: int | None = None, **variables: str) -> Iterator[subprocess.Popen[str]]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT), "XDG_CONFIG_HOME": str(home), **variables}
    program = [sys.executable, "-m", "carillon_client", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        program,
        stdin=stdin,
        stdout=stdin or pipe,
        stderr=pipe,
        text=True,
        env=environment,
        preexec_fn=_heed_ctrl_c,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def test_a_check_says_what_it_finds(web: Web, client: Client, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    client.schedules.create(
        title="Report",
        timing={"daily": {"time": "09:00"}},
        channel_ids=[str(make_channel(ada).id)],
        job={"kind": "report", "payload": {"period": "day"}},
    )
    with started("check", "report", home=tmp_path, **known) as asked:
        wait_until(Job.objects.filter(state="pending").exists)
        check(Job.objects.get())
        said, refused = asked.communicate(timeout=60)
    assert (asked.returncode, refused) == (0, "")
    assert said.startswith("spoke: ") and "report" in said.lower()


def test_changes_are_followed_until_ctrl_c(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    with started("changes", "--follow", home=tmp_path, **known) as asked:
        for label in ("One", "Two"):
            channel = make_channel(ada, "webhook", label=label)
            assert asked.stdout and str(channel.id) in asked.stdout.readline()
        asked.send_signal(signal.SIGINT)
        assert (asked.wait(timeout=60), asked.stderr and asked.stderr.read()) == (130, "")


def test_at_a_terminal_it_asks_before_it_deletes_and_shows_more(
    web: Web, client: Client, token: str, ada: User, tmp_path: Path
) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    channel = str(make_channel(ada).id)
    client.schedules.create(title="Rent", timing={"daily": {"time": "09:00"}}, channel_ids=[channel])
    for _ in range(26):
        make_rule(ada)
    for typed, arguments, status, count in (
        ("n\n", ["delete", "Rent"], 1, 0),
        ("\n", ["rules"], 0, 26),
        ("q\n", ["rules"], 0, 25),
        ("y\n", ["delete", "Rent"], 0, 1),
    ):
        ours, terminal = os.openpty()
        with started(*arguments, home=tmp_path, stdin=terminal, **known) as asked:
            os.write(ours, typed.encode())
            asked.communicate(timeout=60)
        shown = os.read(ours, 100_000).decode().replace(typed.replace("\n", "\r\n"), "", 1)
        assert (asked.returncode, shown.count("\r\n")) == (status, count), shown
        os.close(ours)
        os.close(terminal)
    assert not list(client.schedules.list())


def test_a_command_that_is_not_understood_says_what_is_missing(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    make_channel(ada, label="\x1b[2JInbox")
    for title in ("Twice", "Twice"):
        assert carillon("add", title, "--every", "day 09:00", home=tmp_path, **known).returncode == 0
    for arguments, status, said in (
        (["add", "dentist 3/4/2031 9am"], 1, "“dentist 2031-03-04 9am” or “dentist 2031-04-03 9am”"),
        (["pause", "Nowhere"], 2, "No reminder is called “Nowhere”"),
        (["pause", "twice"], 2, "2 reminders are called “twice”"),
        (["check", "01a2020c-3226-7ba6-9905-6b55aaff8a97"], 1, "404"),
        (["send", "x", "--channel", "Nowhere"], 2, "\\u001b[2JInbox"),
        (["login", "example.org"], 2, "is not an address"),
        (["restore", "01a2020c-3226-7ba6-9905-6b55aaff8a97"], 1, "There is nothing here"),
    ):
        refused = carillon(*arguments, home=tmp_path, **known)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (status, "", 1), refused.stderr
        assert said in refused.stderr or said == "404"


def test_a_list_shows_25_and_says_that_there_are_more(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    for _ in range(26):
        make_rule(ada)
    shown = carillon("rules", home=tmp_path, **known)
    assert (shown.stdout.count("\n"), "--limit" in shown.stderr) == (25, True)
    every = carillon("rules", "--limit", "0", home=tmp_path, **known)
    assert (every.stdout.count("\n"), every.stderr) == (26, "")
    for wrong in (["rules", "--limit", "-1"], ["cancel", "nowhere"], ["list", "--state", "lost"]):
        assert carillon(*wrong, home=tmp_path, **known).returncode == 2


def test_a_command_names_the_channels_that_there_are(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    for channel, arguments in (("none", ["--channel", "Phone"]), ("Pager", []), ("Pager", ["--channel", "Phone"])):
        if channel != "none" and not ada.channels.exists():
            make_channel(ada, "webhook", label=channel)
        refused = carillon("send", "Done", *arguments, home=tmp_path, **known)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert ("Pager" in refused.stderr) == (channel == "Pager")
    assert carillon("list", home=tmp_path, **known).stdout == "No reminders.\n"


def test_a_command_without_its_arguments_names_them(tmp_path: Path) -> None:
    for arguments in ([], ["add"], ["add", "x", "--cron", "0 9 * * *", "--once", "2090-01-01"]):
        wrong = carillon(*arguments, home=tmp_path)
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert "usage: carillon" in wrong.stderr
    shown = carillon("--help", home=tmp_path)
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in ("login", "add", "send", "list", "dead-letters"))


def test_login_keeps_the_token_for_its_owner_only(web: Web, token: str, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{web.port}"
    done = carillon("login", url, home=tmp_path, given=f"{token}\n")
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / "carillon" / "account.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"url": url, "token": token}
    refused = carillon("login", url, home=tmp_path, given="carillon_wrong\n")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert json.loads(file.read_text())["token"] == token
    assert carillon("logout", home=tmp_path).stdout == "Signed out.\n"
    assert not file.exists()


def test_errors_are_one_sentence_and_a_status(
    web: Web, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    url = f"http://127.0.0.1:{web.port}"
    assert carillon("list", home=tmp_path).returncode == 1
    assert carillon("list", home=tmp_path, CARILLON_URL="http://127.0.0.1:9", CARILLON_TOKEN=token).returncode == 3
    wrong = carillon("add", "x", "--every", "someday", home=tmp_path, CARILLON_URL=url, CARILLON_TOKEN=token)
    assert (wrong.returncode, wrong.stderr.count("\n"), "Traceback" in wrong.stderr) == (2, 1, False)


def test_a_command_runs_under_a_lock(web: Web, token: str, ada: User, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    done = carillon("lock", "--ttl", "20", "backup", "--", "sh", "-c", "sleep 8; exit 7", home=tmp_path, **known)
    assert (done.returncode, done.stderr) == (7, "")  # it was renewed, and its status is that of the command
    assert "No lock is held." in carillon("lock", home=tmp_path, **known).stdout
    leases.acquire(ada, "backup", 60, "another host")
    done = carillon("lock", "backup", "--", "touch", str(tmp_path / "ran"), home=tmp_path, **known)
    assert (done.returncode, "another host holds backup" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "ran").exists()
    assert carillon("lock", "backup", home=tmp_path, **known).returncode == 2
    assert carillon("lock", "backup", "--ttl", "3", "--", "true", home=tmp_path, **known).returncode == 2


def test_counters_are_added_to_read_and_deleted(web: Web, token: str, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    assert [carillon("counter", "builds", by, home=tmp_path, **known).stdout for by in ("+3", "-1")] == ["3\n", "2\n"]
    assert carillon("counter", "builds", home=tmp_path, **known).stdout == "2\n"
    assert carillon("counter", home=tmp_path, **known).stdout == "builds: 2\n"
    assert carillon("counter", "builds", "--delete", home=tmp_path, **known).returncode == 0
    assert carillon("counter", "builds", home=tmp_path, **known).returncode == 1


def test_a_command_ends_when_its_lock_is_lost(web: Web, token: str, tmp_path: Path) -> None:
    known = {"CARILLON_URL": f"http://127.0.0.1:{web.port}", "CARILLON_TOKEN": token}
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            subprocess.run,
            [sys.executable, "-m", "carillon_client", "lock", "--ttl", "20", "backup", "--", "sleep", "60"],
            env=os.environ | known | {"PYTHONPATH": str(CLIENT)},
            capture_output=True,
            text=True,
            check=False,
        )
        wait_until(lambda: Lock.objects.filter(name="backup").exists())
        Lock.objects.update(hashed="somebody else's")
        began = time.monotonic()
        done = running.result(120)
    assert time.monotonic() - began < 55  # `sleep` would take 60
    assert (done.returncode, "could not be renewed" in done.stderr) == (1, True), done
