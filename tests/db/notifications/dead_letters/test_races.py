"""Of two who reach for the same letter at once, it obeys one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from notifications.deliveries.kind import DELIVERY
from notifications.models import Attempt, Delivery
from tests.db.locks import wait_for_a_lock
from tests.db.notifications.conftest import OPERATOR
from tests.make import make_channel, make_delivery, make_user, send_now, settle, taken
from work import dead_letters
from work.dead_letters import Done, Which
from work.models import InterventionItem

pytestmark = pytest.mark.django_db(transaction=True)


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Run the acts at once, each on a connection of its own. Returns what each returned."""
    answers: list[Any] = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def run(place: int, act: Callable[[], Any]) -> None:
        try:
            connection.ensure_connection()
            start.wait(60)
            answers[place] = act()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def make_dead(count: int) -> list[Delivery]:
    channel = make_channel(make_user())
    return [make_delivery(channel, state="dead", reason="No such box.") for _ in range(count)]


def replay() -> Done:
    return dead_letters.replay(Which(DELIVERY).rows(), "", OPERATOR)


def discard() -> Done:
    return dead_letters.discard(Which(DELIVERY).rows(), "", OPERATOR, "Old.")


def test_two_operators_who_replay_at_once_replay_each_letter_once() -> None:
    letters = make_dead(60)
    one, other = together(replay, replay)
    assert len(one.changed) + len(other.changed) == 60
    assert not set(one.changed) & set(other.changed)
    assert set(Delivery.objects.values_list("state", "replays")) == {("pending", 1)}
    assert InterventionItem.objects.count() == len(letters)


def test_of_discard_and_replay_at_once_each_letter_obeys_one() -> None:
    make_dead(60)
    again, gone = together(replay, discard)
    assert set(Delivery.objects.filter(state="pending").values_list("id", flat=True)) == set(again.changed)
    assert set(Delivery.objects.filter(state="cancelled").values_list("id", flat=True)) == set(gone.changed)
    assert len(again.changed) + len(gone.changed) == 60


def test_a_letter_that_somebody_holds_is_looked_at_again_and_left_alone() -> None:
    """The second waits for the first, who commits; without the second look it would replay what was discarded."""
    make_dead(3)
    held = threading.Event()

    def first() -> None:
        with transaction.atomic():
            discard()
            held.set()
            wait_for_a_lock()

    def second() -> Done:
        held.wait(60)
        return replay()

    _, done = together(first, second)
    assert done.changed == []
    assert set(Delivery.objects.values_list("state", flat=True)) == {"cancelled"}


def test_a_replay_while_workers_send_never_sends_a_letter_twice() -> None:
    letters = make_dead(20)
    replay()

    def work() -> None:
        for letter in letters:
            send_now(letter.id)

    together(work, work, replay, discard)
    assert set(Delivery.objects.values_list("state", "replays")) == {("delivered", 1)}
    assert Attempt.objects.count() == 20


def test_what_is_being_sent_is_neither_replayed_nor_discarded() -> None:
    [letter] = make_dead(1)
    replay()
    claim = taken(letter.id)
    assert replay().changed == discard().changed == []
    assert settle(claim, "delivered")
