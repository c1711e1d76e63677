"""Pings: their record, and what they do to their watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from aiosmtpd.smtp import Envelope
from django.db import connection
from pytest_django import Settings

from locks import leases
from locks.leases import Lease, Taken
from locks.models import Lock
from people.models import User
from schedules.firing.fire import read_clock
from tests.db.locks import locked
from tests.make import make_user, make_watch
from watches import changes, mail, notices, pings, timing
from watches.models import Ping, PingKey, Watch
from watches.models.badge import new_token
from watches.pings import LOCKED, TAKEN, TOO_MANY, UNKNOWN, NewPing

HOUR = timedelta(hours=1)
GRACE = timedelta(seconds=300)


def ping(watch: Watch, kind: str = "success", **fields: Any) -> Ping:
    assert pings.record([NewPing(watch.token, kind, **fields)]) == [TAKEN]
    watch.refresh_from_db()
    newest = watch.pings.first()
    assert newest is not None
    return newest


def set_back(watch: Watch, by: timedelta) -> None:
    """As if all of it had happened so much earlier."""
    for row in watch.pings.all():
        Ping.objects.filter(id=row.id).update(at=row.at - by, slow_at=row.slow_at and row.slow_at - by)
    Watch.objects.filter(id=watch.id).update(
        deadline=watch.deadline and watch.deadline - by,
        last_ping_at=watch.last_ping_at and watch.last_ping_at - by,
        counted_from=watch.counted_from and watch.counted_from - by,
        state_since=watch.state_since - by,
    )
    watch.refresh_from_db()


def test_a_ping_expects_the_next_one(ada: User) -> None:
    watch = make_watch(ada)
    assert watch.deadline is None
    newest = ping(watch)
    assert (watch.state, watch.ping_count, watch.last_ping_at) == ("up", 1, newest.at)
    assert watch.deadline == newest.at + HOUR + GRACE
    assert not newest.tells


def test_a_ping_counts_from_when_it_arrived(ada: User) -> None:
    watch = make_watch(ada)
    newest = ping(watch, waited=2.0)
    assert timedelta(seconds=1.9) < read_clock().now - newest.at
    assert watch.deadline == newest.at + HOUR + GRACE


def test_by_a_rule_the_next_slot_after_the_ping_is_expected(ada: User) -> None:
    watch = make_watch(ada, kind="cron", period=None, rule={"expression": "0 * * * *"}, time_zone="Europe/Berlin")
    newest = ping(watch)
    slot = newest.at.replace(minute=0, second=0, microsecond=0) + HOUR
    assert watch.deadline == slot + GRACE
    assert len(watch.slots) == 8
    # The stored slots are used up: they are computed anew.
    Watch.objects.filter(id=watch.id).update(slots=[newest.at - HOUR])
    ping(watch)
    assert watch.deadline == slot + GRACE
    assert watch.slots[-1] > newest.at


def test_a_ping_that_came_before_a_slot_and_is_recorded_after_it_counts_as_before(ada: User) -> None:
    slot = read_clock().now - timedelta(seconds=10)
    rule = {"every": 1, "unit": "hours", "anchor": slot.isoformat()}
    watch = make_watch(ada, kind="interval", period=None, rule=rule)
    for stored in ([slot, slot + HOUR], []):  # also where its slots must be computed first
        Watch.objects.filter(id=watch.id).update(slots=stored)
        ping(watch, waited=50.0)
        assert watch.deadline == slot + GRACE


def test_slots_that_are_computed_while_the_rule_is_edited_are_not_stored(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = make_watch(ada, kind="daily", period=None, rule={"time": "09:00"})
    compute = timing.set_slots

    def edited_meanwhile(one: Watch, after: datetime) -> None:
        compute(one, after)
        Watch.objects.filter(id=watch.id).update(version=one.version + 1)

    monkeypatch.setattr(timing, "set_slots", edited_meanwhile)
    pings.compute_slots([watch.token])
    watch.refresh_from_db()
    assert watch.slots == []


@pytest.mark.parametrize(("meanwhile", "outcome"), [("edited", TAKEN), ("deleted", UNKNOWN)])
def test_a_ping_whose_watch_is_changed_while_its_slots_are_computed_has_an_outcome(
    ada: User, monkeypatch: pytest.MonkeyPatch, meanwhile: str, outcome: str
) -> None:
    watch = make_watch(ada, kind="daily", period=None, rule={"time": "09:00"})
    compute = timing.set_slots

    def changed_meanwhile(one: Watch, after: datetime) -> None:
        monkeypatch.undo()
        compute(one, after)
        gone = read_clock().now if meanwhile == "deleted" else None
        Watch.objects.filter(id=watch.id).update(version=one.version + 1, deleted_at=gone)

    monkeypatch.setattr(timing, "set_slots", changed_meanwhile)
    assert pings.record([NewPing(watch.token, "success")]) == [outcome]


def test_a_slot_whose_grace_ends_beyond_all_dates_is_not_expected(ada: User) -> None:
    rule = {"kind": "daily", "period": None, "rule": {"time": "09:00"}}
    watch = make_watch(ada, **rule, grace=31 * 86_400, starts_at=datetime(9998, 12, 20, tzinfo=UTC))
    ping(watch)
    assert (watch.state, watch.deadline) == ("up", None)
    changes.pause(watch.id, stays_paused=True)
    assert changes.resume(watch.id).deadline is None


def test_a_rule_that_has_ended_expects_nothing(ada: User) -> None:
    rule = {"expression": "0 * * * *"}
    watch = make_watch(ada, kind="cron", period=None, rule=rule, ends_at=datetime(2026, 1, 1, tzinfo=UTC))
    ping(watch)
    assert (watch.state, watch.deadline, watch.is_over) == ("up", None, True)


@pytest.mark.parametrize("state", ["new", "paused"])
def test_the_first_start_expects_its_success_within_a_period(ada: User, state: str) -> None:
    watch = make_watch(ada, state=state)
    start = ping(watch, "start")
    assert (watch.state, watch.counted_from) == ("up", start.at)
    assert watch.deadline == start.at + HOUR + GRACE


def test_its_state_lasts_since_it_changed_and_not_since_the_last_ping(ada: User) -> None:
    watch = make_watch(ada)
    ping(watch)
    set_back(watch, timedelta(minutes=30))
    since = watch.state_since
    ping(watch)
    assert watch.state_since == since


def test_a_failure_sets_it_down_until_it_succeeds(ada: User) -> None:
    watch = make_watch(ada)
    assert ping(watch, "fail", exit_code=3).tells == "failed"
    assert (watch.state, watch.deadline) == ("down", None)
    assert not ping(watch, "fail").tells
    assert not ping(watch, "start").tells
    assert watch.state == "down"
    assert ping(watch).tells == "recovered"
    assert watch.state == "up"


def test_a_failure_that_comes_too_late_is_told_as_a_failure_alone(ada: User) -> None:
    watch = make_watch(ada)
    ping(watch)
    set_back(watch, 2 * HOUR)
    late = ping(watch, "fail")
    assert (late.tells, late.missed_at) == ("failed", None)


def test_runs_overlap_with_their_own_ids(ada: User) -> None:
    watch = make_watch(ada, longest_run=600)
    one, two = str(uuid4()), str(uuid4())
    first = ping(watch, "start", rid=one)
    assert first.slow_at == first.at + timedelta(seconds=600)
    set_back(watch, timedelta(seconds=60))
    ping(watch, "start", rid=two)
    set_back(watch, timedelta(seconds=30))
    assert ping(watch, rid=one).milliseconds == pytest.approx(90_000, abs=500)
    assert ping(watch, rid=two).milliseconds == pytest.approx(30_000, abs=500)
    assert ping(watch).milliseconds is None
    assert not watch.pings.filter(is_open=True).exists()
    assert not watch.pings.filter(slow_at__isnull=False).exists()


def test_a_log_changes_nothing_but_is_stored(ada: User) -> None:
    watch = make_watch(ada, ignore_words=["skipped"])
    ping(watch)
    set_back(watch, timedelta(minutes=30))
    before = (watch.deadline, watch.last_ping_at, watch.counted_from)
    assert ping(watch, "log", output="half", size=4).output == "half"
    assert ping(watch, output="skipped").kind == "log"
    assert (watch.deadline, watch.last_ping_at, watch.counted_from) == before
    assert watch.ping_count == 3


@pytest.mark.parametrize(("stays", "state"), [(True, "paused"), (False, "up")])
def test_a_paused_one_may_wake_with_the_next_ping(ada: User, stays: bool, state: str) -> None:
    watch = make_watch(ada, state="paused", stays_paused=stays)
    assert not ping(watch).tells
    assert watch.state == state
    assert (watch.deadline is None) is stays


def test_the_last_hundred_are_kept(ada: User, settings: Settings) -> None:
    settings.PINGS_PER_MINUTE = 1000
    watch = make_watch(ada)
    first = ping(watch, "fail")
    for _ in range(103):
        ping(watch)
    assert watch.pings.exclude(id=first.id).count() <= 101
    assert watch.pings.filter(id=first.id).exists()  # until it is told
    notices.record_due()
    ping(watch)
    assert watch.pings.count() == 100


def test_too_many_in_a_minute_are_refused(ada: User, settings: Settings) -> None:
    settings.PINGS_PER_MINUTE = 2
    watch, other = make_watch(ada), make_watch(ada, [])
    for _ in range(2):
        ping(watch)
    assert pings.record([NewPing(watch.token, "success"), NewPing(other.token, "success")]) == [TOO_MANY, TAKEN]
    Watch.objects.filter(id=watch.id).update(minute=read_clock().now - timedelta(minutes=2))
    ping(watch)


def test_a_flood_of_one_watch_costs_one_statement(
    ada: User, settings: Settings, django_assert_num_queries: Any
) -> None:
    settings.PINGS_PER_MINUTE = 1
    full, other = (make_watch(ada, [], name=name) for name in ("Full", "Other"))
    ping(full)
    for token, refusal in ((full.token, TOO_MANY), (uuid4(), UNKNOWN)):
        flood = [NewPing(token, "success") for _ in range(20)]
        with django_assert_num_queries(1):
            assert pings.record([*flood, NewPing(other.token, "log")]) == [*[refusal] * 20, TAKEN]
        Watch.objects.filter(id=other.id).update(minute_count=0)


@pytest.mark.django_db(transaction=True)
def test_mails_to_a_watch_that_is_locked_delay_no_other(ada: User, settings: Settings) -> None:
    settings.PING_DOMAIN = "ping.example.org"
    held, other = (make_watch(ada, [], name=name) for name in ("Held", "Other"))
    receiver = mail.Receiver()

    async def send(watch: Watch) -> str:
        envelope = Envelope()
        envelope.original_content, envelope.rcpt_tos = b"Subject: x\r\n\r\n", [f"{watch.token}@ping.example.org"]
        return (await receiver.handle_DATA(Mock(), Mock(), envelope))[:3]

    async def send_all(unlock: Callable[[], None]) -> list[str]:
        mails = [asyncio.create_task(send(watch)) for watch in (held, held, other)]
        assert (await asyncio.wait(mails, return_when=asyncio.FIRST_COMPLETED))[0] == {mails[-1]}
        unlock()
        return await asyncio.gather(*mails)

    with locked("watches_watch", held.id) as somebody:
        assert asyncio.run(send_all(somebody.rollback)) == ["250"] * 3
    receiver._thread.submit(lambda: connection.close()).result()


def test_what_is_gone_takes_nothing(ada: User) -> None:
    watch = make_watch(ada)
    assert pings.record([NewPing(uuid4(), "success")]) == [UNKNOWN]
    Watch.objects.filter(id=watch.id).update(deleted_at=read_clock().now)
    assert pings.record([NewPing(watch.token, "success")]) == [UNKNOWN]
    Watch.objects.filter(id=watch.id).update(deleted_at=None)
    User.objects.filter(id=ada.id).update(is_active=False)
    assert pings.record([NewPing(watch.token, "success")]) == [UNKNOWN]


def test_a_ping_that_is_recorded_again_is_stored_once(ada: User) -> None:
    watch = make_watch(ada)
    sent = NewPing(watch.token, "fail")
    assert pings.record([sent]) == [TAKEN]
    assert pings.record([sent]) == [TAKEN]
    watch.refresh_from_db()
    assert (watch.ping_count, watch.pings.count()) == (1, 1)


def outcome(watch: Watch, kind: str, **fields: Any) -> str:
    [found] = pings.record([NewPing(watch.token, kind, **fields)])
    watch.refresh_from_db()
    return found


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("DONE in 3 s", "success"),
        ("DONE, but WARNING: slow", "fail"),
        ("half DONE, skipped", "log"),
        ("nothing", "fail"),
        ("", "success"),
    ],
)
def test_words_in_the_output_decide_what_it_reports(ada: User, output: str, kind: str) -> None:
    watch = make_watch(ada, success_words=["DONE"], failure_words=["ERROR", "WARNING"], ignore_words=["skipped"])
    assert ping(watch, output=output).kind == kind
    assert watch.state == {"success": "up", "fail": "down", "log": "new"}[kind]


def test_a_failure_stays_one_whatever_its_words(ada: User) -> None:
    assert ping(make_watch(ada, success_words=["DONE"]), "fail", output="DONE").kind == "fail"


def test_a_watch_is_pinged_by_key_and_slug(ada: User) -> None:
    watch, other = make_watch(ada, [], slug="backup"), make_watch(make_user(), slug="backup")
    key, theirs = (PingKey.objects.create(user=one.user) for one in (watch, other))
    assert watch.slug_url.endswith(f"/ping/{key.key}/backup")
    known = NewPing(None, "success", address=f"{key.key}/backup")
    unknown = NewPing(None, "success", address=f"{key.key}/other")
    assert pings.record([known, unknown, NewPing(watch.token, "start")]) == [TAKEN, UNKNOWN, TAKEN]
    watch.refresh_from_db()
    assert [one.kind for one in watch.pings.all()] == ["start", "success"]
    PingKey.objects.filter(user=ada).update(key=new_token())
    assert pings.record([NewPing(None, "success", address=f"{key.key}/backup")]) == [UNKNOWN]
    assert pings.record([NewPing(None, "success", address=f"{theirs.key}/backup")]) == [TAKEN]
    changes.delete(other.id)
    make_watch(other.user, [])
    for slug in ("backup", ""):
        assert pings.record([NewPing(None, "success", address=f"{theirs.key}/{slug}")]) == [UNKNOWN]


def test_a_run_holds_the_lock_until_it_ends(ada: User) -> None:
    watch, other = (make_watch(ada, [], name=name, lock="db", longest_run=600) for name in ("Dump", "Vacuum"))
    assert outcome(watch, "start") == TAKEN
    held = leases.acquire(ada, "db", 10)
    assert isinstance(held, Taken) and held.holder == "Dump" and 0 < held.wait_ms <= 600_000
    assert [outcome(one, "start") for one in (other, watch)] == [LOCKED, LOCKED]
    assert (other.ping_count, watch.ping_count) == (0, 1)
    assert outcome(other, "success") == TAKEN  # it frees nothing
    assert isinstance(leases.acquire(ada, "db", 10), Taken)
    assert outcome(watch, "fail") == TAKEN
    assert outcome(other, "start") == TAKEN
    assert outcome(make_watch(make_user(), lock="db", longest_run=600), "start") == TAKEN


def test_a_run_without_a_longest_time_holds_the_lock_for_an_hour(ada: User) -> None:
    watch = make_watch(ada, lock="db")
    start = ping(watch, "start")
    assert Lock.objects.get(name="db").expires_at == start.at + HOUR


def test_of_two_runs_that_start_at_once_one_gets_the_lock(ada: User) -> None:
    both = [make_watch(ada, [], lock="db", longest_run=600) for _ in range(2)]
    assert sorted(pings.record([NewPing(one.token, "start") for one in both])) == [LOCKED, TAKEN]


def test_a_start_is_refused_while_a_program_holds_the_lock(ada: User) -> None:
    watch = make_watch(ada, lock="db", longest_run=600)
    held = leases.acquire(ada, "db", 60, "psql")
    assert isinstance(held, Lease)
    assert outcome(watch, "start") == LOCKED
    leases.release(ada, "db", held.token)
    assert outcome(watch, "start") == TAKEN
    lock = Lock.objects.get(name="db")
    assert (lock.holder, lock.fence > held.fence) == ("Backup", True)
    Lock.objects.update(expires_at=read_clock().now)
    assert isinstance(leases.acquire(ada, "db", 60), Lease)  # its longest run is over
    assert outcome(watch, "success") == TAKEN
    assert isinstance(leases.acquire(ada, "db", 60), Taken)  # which the end of the lost run does not free


def test_a_run_that_starts_again_by_its_id_keeps_the_lock(ada: User) -> None:
    watch = make_watch(ada, lock="db", longest_run=600)
    run, other = str(uuid4()), str(uuid4())
    assert [outcome(watch, "start", rid=rid) for rid in (run, run, other, "")] == [TAKEN, TAKEN, LOCKED, LOCKED]
    assert outcome(watch, "success", rid=run) == TAKEN
    assert isinstance(leases.acquire(ada, "db", 10), Lease)


def test_a_lock_is_freed_when_its_watch_is_deleted(ada: User) -> None:
    watch = make_watch(ada, lock="db", longest_run=600)
    assert outcome(watch, "start", rid=str(uuid4())) == TAKEN
    changes.delete(watch.id)
    assert isinstance(leases.acquire(ada, "db", 10), Lease)


def test_the_end_of_a_run_frees_the_lock_that_its_watch_had_at_its_start(ada: User) -> None:
    watch = make_watch(ada, lock="db", longest_run=600)
    assert outcome(watch, "start") == TAKEN
    Watch.objects.filter(id=watch.id).update(lock="disk")
    assert outcome(watch, "success") == TAKEN
    assert isinstance(leases.acquire(ada, "db", 10), Lease)


def test_a_run_whose_output_is_ignored_has_ended(ada: User) -> None:
    watch = make_watch(ada, lock="db", longest_run=600, ignore_words=["skipped"])
    ping(watch, "start")
    end = ping(watch, output="skipped")
    assert (end.kind, end.milliseconds is None) == ("log", False)
    assert not watch.pings.filter(is_open=True).exists()
    assert isinstance(leases.acquire(ada, "db", 10), Lease)
