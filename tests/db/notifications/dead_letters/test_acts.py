"""Replay and discard do what was asked to what was meant, and keep who asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from demo.receivers import HTTPReceiver, Reply
from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.db.notifications.conftest import OPERATOR, state_after_a_try
from tests.make import NOON, make_channel, make_delivery, make_user, take
from work import dead_letters
from work.broker import wakes
from work.dead_letters import Which
from work.models import Intervention

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user(), "email")


def make_dead(channel: Channel, count: int = 1, **overrides: Any) -> list[Delivery]:
    """Dead letters of one cause, the one that died first first."""
    fields = {"state": "dead", "reason": "No such box."} | overrides
    return [make_delivery(channel, settled_at=NOON + timedelta(minutes=n), **fields) for n in range(count)]


def replay(which: Which, **named: Any) -> dead_letters.Done:
    return dead_letters.replay(which.rows(), str(which), OPERATOR, cause=which.cause, **named)


def test_a_replay_at_a_rate_makes_them_due_one_after_another_oldest_first(channel: Channel) -> None:
    letters = make_dead(channel, 4)
    done = replay(Which(DELIVERY), per_minute=30)
    assert done.changed == [letter.id for letter in letters]
    rows = [Delivery.objects.get(id=key) for key in done.changed]
    due = [row.available_at for row in rows]
    assert [at - due[0] for at in due] == [timedelta(seconds=2 * n) for n in range(4)]
    assert [row.wake_at for row in rows] == [max(due[0], at - timedelta(seconds=wakes.EARLY)) for at in due]


def test_of_a_replay_at_a_rate_only_the_first_is_published_at_once(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[wakes.Wake] = []
    monkeypatch.setattr(dead_letters, "publish_after_commit", published.extend)
    letters = make_dead(channel, 3)
    replay(Which(DELIVERY), per_minute=30)
    assert [wake.id for wake in published] == [letters[0].id]


def test_what_waits_for_its_turn_is_not_sent_before_it(channel: Channel) -> None:
    first, second = make_dead(channel, 2)
    replay(Which(DELIVERY), per_minute=1)
    assert take(second.id, "worker") is None
    assert take(first.id, "worker") is not None


def test_what_is_stale_is_skipped_and_stays_a_dead_letter(channel: Channel) -> None:
    past, ahead = timezone.now() - timedelta(hours=1), timezone.now() + timedelta(hours=1)
    [old], [fresh], [free] = (make_dead(channel, expires_at=at) for at in (past, ahead, None))
    done = replay(Which(DELIVERY), skip=dead_letters.stale())
    assert (set(done.changed), done.stale) == ({fresh.id, free.id}, 1)
    old.refresh_from_db()
    assert old.state == "dead"
    fresh.refresh_from_db()
    assert fresh.expires_at == ahead  # it may yet become stale while it waits


def test_what_is_older_than_a_chosen_age_is_skipped(channel: Channel) -> None:
    make_dead(channel, created_at=timezone.now() - timedelta(days=3))
    [young] = make_dead(channel)
    done = replay(Which(DELIVERY), skip=dead_letters.stale(timedelta(days=2)))
    assert (done.changed, done.stale) == ([young.id], 1)


def test_only_what_was_meant_is_touched(channel: Channel) -> None:
    meant = make_dead(channel, 2)
    other = make_dead(channel, cause="email-smtp-550")[0]
    hook = make_delivery(make_channel(make_user(), "webhook"), state="dead", reason="No such box.")
    meant[0].refresh_from_db()
    assert set(replay(Which(DELIVERY, cause=meant[0].cause)).changed) == {letter.id for letter in meant}
    assert dead_letters.discard(Which(DELIVERY, handler="webhook").rows(), "", OPERATOR, "Gone.").changed == [hook.id]
    other.refresh_from_db()
    assert other.state == "dead"


def test_one_is_tried_the_newest_and_alone(channel: Channel) -> None:
    _, newest = make_dead(channel, 2)
    newest.refresh_from_db()
    which = Which(DELIVERY, cause=newest.cause)
    done = dead_letters.try_one(which.rows(), str(which), OPERATOR, cause=which.cause)
    assert done.changed == [newest.id]
    assert done.intervention is not None
    assert (done.intervention.what, done.intervention.cause) == ("tested", newest.cause)
    assert Delivery.objects.filter(state="dead").count() == 1


def test_progress_says_what_has_become_of_them(hook: Channel, receiver: HTTPReceiver) -> None:
    letters = make_dead(hook, 4)
    done = replay(Which(DELIVERY))
    assert done.intervention is not None
    assert dead_letters.progress(done.intervention) == {"pending": 4}
    receiver.answer = Reply(404)
    assert state_after_a_try(letters[0]) == "dead"
    receiver.answer = Reply(200)
    assert state_after_a_try(letters[1]) == "delivered"
    take(letters[2].id, "worker")
    told = dead_letters.progress(done.intervention)
    assert told == {"pending": 1, "sending": 1, "delivered": 1, "dead": 1}


def test_a_partial_failure_is_replayed_alone_with_the_same_key(
    ada: User, hook: Channel, receiver: HTTPReceiver
) -> None:
    good = make_channel(ada, "webhook", address={"url": f"{receiver.origin}/good"})
    outbox.notify(ada.pk, [good, hook], "Water the plants", "", Notification.Origin.SCHEDULE)
    arrived, failed = Delivery.objects.get(channel=good), Delivery.objects.get(channel=hook)
    receiver.answer = lambda request: Reply(200 if request.path == "/good" else 404)
    assert (state_after_a_try(arrived), state_after_a_try(failed)) == ("delivered", "dead")
    receiver.answer = Reply(200)
    assert replay(Which(DELIVERY, ids=[arrived.id, failed.id])).changed == [failed.id]
    assert (state_after_a_try(failed), state_after_a_try(arrived)) == ("delivered", "delivered")
    sent = [(request.path, request.headers["webhook-id"]) for request in receiver.requests]
    assert sent == [("/good", str(arrived.id)), ("/hook", str(failed.id)), ("/hook", str(failed.id))]
    assert failed.notification_id == arrived.notification_id


def test_who_did_what_to_which_and_why_is_kept(channel: Channel) -> None:
    by = make_user(email="op@example.org")
    make_dead(channel, 2)
    who = dead_letters.Who(by.pk, by.email)
    dead_letters.discard(
        Which(DELIVERY, handler="email").rows(), str(Which(DELIVERY, handler="email")), who, "They moved."
    )
    kept = Intervention.objects.get()
    assert (kept.by, kept.who, kept.what, kept.count) == (by, "op@example.org", "discarded", 2)
    assert (kept.which, kept.reason) == ("of the provider email", "They moved.")
    assert set(dead_letters.touched_by(kept)) == set(Delivery.objects.all())
    assert Delivery.objects.first().reason == "Discarded: They moved."  # type: ignore[union-attr]
    dead_letters.discard(Which(DELIVERY).rows(), "", who, "Again.")
    assert Intervention.objects.count() == 1  # nothing was done, so nothing is kept


@pytest.mark.parametrize("change", ["UPDATE {} SET reason = 'No'", "UPDATE {} SET by_id = 1", "DELETE FROM {}"])
def test_what_is_kept_never_changes(channel: Channel, change: str) -> None:
    make_dead(channel)
    dead_letters.discard(Which(DELIVERY).rows(), "", dead_letters.Who(None, "somebody"), "Old.")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM work_interventionitem")
        with pytest.raises(IntegrityError, match="An intervention"), transaction.atomic():
            cursor.execute(change.format("work_intervention"))


def test_an_account_that_is_deleted_leaves_its_acts_and_its_letters_go(channel: Channel) -> None:
    by = make_user(email="op@example.org")
    make_dead(channel)
    dead_letters.discard(Which(DELIVERY).rows(), "", dead_letters.Who(by.pk, by.email), "Old.")
    by.delete()
    channel.user.delete()
    kept = Intervention.objects.get()
    assert (kept.by, kept.who, kept.count, dead_letters.touched_by(kept).count()) == (None, "op@example.org", 1, 0)
