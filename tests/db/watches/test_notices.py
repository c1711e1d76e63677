"""What watches tell: an event and a message, once."""

from __future__ import annotations

from datetime import time, timedelta

import pytest
from django.urls import clear_url_caches, get_resolver

from common.uuid7 import uuid7
from events.models import Event, FlowSettings
from notifications.deliveries import acknowledge
from notifications.messages.message import Delivered
from notifications.models import Delivery, Notification
from people.models import User
from schedules.firing.fire import read_clock
from tests.db.notifications.deliveries.test_nag import arrive, repeat, repeats
from tests.db.watches.test_pings import HOUR, ping, set_back
from tests.make import NOON, answers, make_channel, make_watch
from watches import changes, notices
from watches.models import Ping, Watch
from work.models import Hold


def told(user: User) -> list[str]:
    return list(Event.objects.filter(user=user).order_by("occurred_at", "id").values_list("type", flat=True))


def test_a_missed_ping_is_told_once_at_the_end_of_the_grace(ada: User) -> None:
    removed = make_channel(ada, "webhook", removed_at=NOON)
    watch = make_watch(ada, [make_channel(ada), make_channel(ada, "email"), removed], tags=["db"])
    ping(watch)
    assert notices.record_due() == 0
    set_back(watch, 2 * HOUR)
    deadline = watch.deadline
    assert notices.record_due() == 1
    assert notices.record_due() == 0
    [event] = Event.objects.all()
    assert (event.type, event.occurred_at, event.chain) == ("watch.missed", deadline, str(watch.id))
    assert (event.data["name"], event.data["tags"]) == ("Backup", ["db"])
    [message] = Notification.objects.all()
    assert (message.subject, message.origin_id) == ("Backup did not report", watch.id)
    assert set(Delivery.objects.values_list("provider", "state")) == {("inbox", "pending"), ("email", "pending")}
    watch.refresh_from_db()
    assert (watch.state, watch.state_since, watch.deadline) == ("down", deadline, None)
    changes.pause(watch.id, stays_paused=False)
    assert set(Delivery.objects.values_list("state", "reason_code")) == {("cancelled", "watch-paused")}


def test_failures_and_recoveries_are_told_in_their_order(ada: User) -> None:
    watch = make_watch(ada)
    ping(watch, "fail", exit_code=3)
    ping(watch)
    ping(watch, "fail")
    assert notices.record_due() == 3
    rows = Event.objects.order_by("id").values_list("type", flat=True)
    assert sorted(rows) == ["watch.failed", "watch.failed", "watch.recovered"]
    assert "Exit code: 3" in {line for one in Notification.objects.all() for line in one.body.splitlines()}
    assert notices.record_due() == 0


def test_they_are_told_in_the_order_in_which_they_were_recorded_whatever_their_ids(ada: User) -> None:
    """Ids come from the web processes, whose clocks differ."""
    watch = make_watch(ada)
    ids = sorted(uuid7() for _ in range(2))
    ping(watch, "fail", id=ids[1])
    ping(watch, id=ids[0])
    assert notices.record_due() == 2
    assert list(Event.objects.order_by("id").values_list("type", flat=True)) == ["watch.failed", "watch.recovered"]


def test_pages_are_loaded_before_watches_are_locked(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    ping(make_watch(ada), "fail")
    clear_url_caches()
    loaded = []
    monkeypatch.setattr(notices, "_record", lambda *_: loaded.append(get_resolver()._populated) or 0)
    notices.record_due()
    assert loaded
    assert all(loaded)


def test_a_miss_that_nobody_has_told_before_the_next_ping_is_told_with_its_recovery(ada: User) -> None:
    watch = make_watch(ada)
    ping(watch)
    set_back(watch, 2 * HOUR)
    newest = ping(watch)
    assert (newest.tells, newest.missed_at is not None) == ("recovered", True)
    assert notices.record_due() == 2
    assert told(ada) == ["watch.missed", "watch.recovered"]
    missed = Notification.objects.get(subject="Backup did not report")
    assert "Last ping" not in missed.body  # the newest one came afterwards


def test_a_failure_is_repeated_until_the_watch_works_again_is_paused_or_somebody_answers(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, Delivered())

    def fail(name: str) -> tuple[Watch, Notification]:
        watch = make_watch(ada, [inbox], name=name, nag_every=10, nag_times=3)
        ping(watch, "fail", waited=60.0)
        assert notices.record_due() == 1
        arrive()
        return watch, Notification.objects.get(origin_id=watch.id)

    def next_repeat(after: Notification) -> bool:
        after.refresh_from_db()
        return after.nag_at is not None

    inbox = make_channel(ada)
    works, pauses, answered, stays = (fail(name) for name in ("a", "b", "c", "d"))
    ping(works[0])
    assert notices.record_due() == 1
    changes.pause(pauses[0].id, stays_paused=True)
    acknowledge.acknowledge(answered[1].id)
    assert repeat() == 1
    assert [next_repeat(one) for _, one in (works, pauses, answered, stays)] == [False, False, False, True]
    assert [one.subject for one in repeats()] == ["d failed (1 of 3)"]
    recovered = Notification.objects.get(subject="a works again")
    assert (recovered.nag_every, recovered.nag_at) == (None, None)


def test_a_run_that_takes_too_long_is_told_once(ada: User) -> None:
    watch = make_watch(ada, longest_run=600)
    ping(watch, "start")
    set_back(watch, timedelta(minutes=20))
    assert notices.record_due() == 1
    ping(watch)
    assert notices.record_due() == 0
    assert told(ada) == ["watch.slow"]


def test_a_slow_run_that_ended_before_anybody_looked_is_told_too(ada: User) -> None:
    watch = make_watch(ada, longest_run=600)
    ping(watch, "start")
    set_back(watch, timedelta(minutes=20))
    ping(watch)
    assert notices.record_due() == 1
    assert told(ada) == ["watch.slow"]


def test_a_run_that_dies_holding_its_lock_is_told(ada: User) -> None:
    died, ended = (make_watch(ada, [], lock=name, longest_run=600) for name in ("db", "disk"))
    died.channels.set([make_channel(ada)])
    for watch in (died, ended):
        ping(watch, "start")
        set_back(watch, timedelta(minutes=20))
    ping(ended)
    assert notices.record_due() == 2
    assert {event.data["lock"] for event in Event.objects.filter(type="watch.slow")} == {"db", ""}
    assert Notification.objects.get().subject == "Backup died holding the lock “db”"


@pytest.mark.parametrize(("is_on", "messages"), [(True, 0), (False, 2)])
def test_with_incidents_an_alert_is_raised_and_resolved_instead_of_a_message(
    ada: User, is_on: bool, messages: int
) -> None:
    FlowSettings.objects.create(user=ada, flow="incident", enabled=is_on)
    watch = make_watch(ada, opens_incident=True)
    ping(watch, "fail")
    ping(watch)
    notices.record_due()
    assert sorted(told(ada)) == ["alert.raised", "alert.resolved", "watch.failed", "watch.recovered"]
    assert {one.data["key"] for one in Event.objects.filter(type__startswith="alert.")} == {str(watch.id)}
    assert Notification.objects.count() == messages


def test_an_incident_that_no_recovery_can_end_any_more_is_over(ada: User) -> None:
    deleted, edited, well = (make_watch(ada, [], opens_incident=True) for _ in range(3))
    ping(well)
    for watch in (deleted, edited):
        ping(watch, "fail")
    notices.record_due()
    for watch in (deleted, well):
        changes.delete(watch.id)
    edited.opens_incident = False
    changes.change(edited, [])
    ended = Event.objects.filter(type="alert.resolved").values_list("data__key", flat=True)
    assert sorted(ended) == sorted([str(deleted.id), str(edited.id)])


def test_with_incidents_a_run_that_takes_too_long_is_a_message_and_no_alert(ada: User) -> None:
    watch = make_watch(ada, opens_incident=True, longest_run=600)
    ping(watch, "start")
    set_back(watch, timedelta(minutes=20))
    assert notices.record_due() == 1
    assert told(ada) == ["watch.slow"]
    assert Notification.objects.get().subject == "Backup takes too long"


def test_an_urgent_watch_does_not_wait_for_the_end_of_quiet_hours(ada: User) -> None:
    User.objects.filter(id=ada.id).update(quiet_from=time(0), quiet_until=time(23, 59, 59), time_zone="UTC")
    mail = make_channel(ada, "email")
    for urgent in (False, True):
        ping(make_watch(ada, [mail], urgent=urgent), "fail")
    assert notices.record_due() == 2
    waits = {one.notification.urgent: one.reason_code for one in Delivery.objects.all()}
    assert waits == {False: "quiet-hours", True: ""}


def test_its_own_words_are_no_marks_of_a_reminder(ada: User) -> None:
    watch = make_watch(ada, description="Not **bold**, and see [x](https://example.org).")
    ping(watch, "fail")
    notices.record_due()
    body = Notification.objects.get().body
    assert "**bold**" not in body and "[x](" not in body
    assert "bold" in body


def test_a_slot_that_new_zone_data_has_moved_is_expected_later(ada: User) -> None:
    watch = make_watch(ada, kind="daily", period=None, rule={"time": "09:00"})
    ping(watch)
    now = read_clock().now
    Watch.objects.filter(id=watch.id).update(deadline=now - timedelta(minutes=1))
    assert notices.record_due() == 0
    watch.refresh_from_db()
    assert watch.deadline is not None and watch.deadline > now


def test_nothing_is_told_on_hold_and_nothing_to_who_is_gone(ada: User) -> None:
    watch = make_watch(ada)
    ping(watch)
    set_back(watch, 2 * HOUR)
    Hold.objects.update(is_on=True)
    assert notices.record_due() == 0
    Hold.objects.update(is_on=False)
    User.objects.filter(id=ada.id).update(is_active=False)
    assert notices.record_due() == 0
    assert not Event.objects.exists()
    watch.refresh_from_db()
    assert watch.state == "down"  # it is not looked at again and again


def test_what_a_deleted_watch_had_to_tell_is_not_told(ada: User) -> None:
    watch = make_watch(ada)
    ping(watch, "fail")
    changes.delete(watch.id)
    assert notices.record_due() == 0
    assert not Event.objects.exists()
    assert not Ping.objects.exclude(tells="").exists()  # it is not looked at again and again


def test_one_that_never_had_a_ping_is_new_again_after_a_pause(ada: User) -> None:
    watch = make_watch(ada)
    changes.pause(watch.id, stays_paused=True)
    resumed = changes.resume(watch.id)
    assert (resumed.state, resumed.deadline) == ("new", None)


def test_one_that_cannot_be_told_holds_up_no_other(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("First", "Bad", "Last"):
        watch = make_watch(ada, [], name=name)
        ping(watch)
        set_back(watch, 2 * HOUR)
    text = notices._text

    def fails(sign: notices.Sign) -> object:
        if sign.watch.name == "Bad":
            raise ValueError("damaged")
        return text(sign)

    monkeypatch.setattr(notices, "_text", fails)
    assert notices.record_due() == 2
    assert {event.data["name"] for event in Event.objects.all()} == {"First", "Last"}
    assert not Watch.objects.filter(state="up").exists()
    assert not Ping.objects.exclude(tells="").exists()


@pytest.mark.parametrize("stays", [True, False])
def test_one_that_was_paused_while_it_was_down_recovers(ada: User, stays: bool) -> None:
    missed, failed = (make_watch(ada, [], opens_incident=True) for _ in range(2))
    ping(missed)
    set_back(missed, 2 * HOUR)
    ping(failed, "fail")
    assert notices.record_due() == 2
    for watch in (missed, failed):
        changes.pause(watch.id, stays_paused=stays)
        if stays:
            changes.resume(watch.id)
        ping(watch)
        assert not ping(watch).tells
    assert notices.record_due() == 2
    assert told(ada).count("watch.recovered") == told(ada).count("alert.resolved") == 2


def test_a_slow_run_of_a_paused_one_is_not_told(ada: User) -> None:
    watch = make_watch(ada, longest_run=600)
    ping(watch, "start")
    set_back(watch, timedelta(minutes=20))
    changes.pause(watch.id, stays_paused=True)
    assert notices.record_due() == 0
    changes.resume(watch.id)
    assert notices.record_due() == 0


def test_an_edit_rings_no_alarm_and_postpones_none(ada: User) -> None:
    watch = make_watch(ada, kind="cron", period=None, rule={"expression": "* * * * *"}, grace=60)
    ping(watch)
    set_back(watch, timedelta(minutes=10))
    changes.pause(watch.id, stays_paused=True)
    resumed = changes.resume(watch.id)
    assert resumed.deadline is not None
    resumed.grace = 120
    watch = changes.change(resumed, watch.ordered_channels())
    assert watch.deadline == resumed.deadline + timedelta(seconds=60)
    late = make_watch(ada, [])
    success = ping(late)
    set_back(late, timedelta(minutes=50))
    ping(late, "start")
    ping(late, "log")
    late.grace = 600
    changed = changes.change(late, [])
    assert changed.deadline == success.at - timedelta(minutes=50) + HOUR + timedelta(seconds=600)
