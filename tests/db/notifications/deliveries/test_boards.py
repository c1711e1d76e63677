"""What stands on a board: once, in order, and only the newest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from common.redis import live_wakes
from notifications.channels import changes
from notifications.deliveries import acknowledge, boards, inbox_state
from notifications.messages.links import BOARD
from notifications.models import BoardMessage, Channel, Notification
from people.models import User
from tests.make import make_channel, make_delivery, make_user, send_now


@pytest.fixture
def board(ada: User) -> Channel:
    return make_channel(ada, "board", label="Kitchen")


def texts(board: Channel, after: int = 0) -> list[str]:
    return [one.text for one in boards.messages(board, after)]


def deliver(board: Channel, **values: Any) -> Notification:
    delivery = make_delivery(board, origin="schedule", **values)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.state == "delivered"
    return delivery.notification


def test_a_reminder_stands_on_the_board_with_its_notification(board: Channel) -> None:
    whole = deliver(board, subject="Bins", body="The blue one")
    [one] = boards.messages(board)
    assert (one.text, one.notification, one.author) == ("Bins\n\nThe blue one", whole, "")


def test_a_line_has_its_authors_address_where_there_is_no_name_and_wakes_open_pages(
    board: Channel, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(live_wakes, "wake", woken.append)
    writer = make_user(name="", email=f"{'a' * 200}@example.org")
    with django_capture_on_commit_callbacks(execute=True):
        line = boards.write(board, writer, "Milk")
    assert line is not None
    assert (line.text, line.author, woken) == ("Milk", "a" * 150, [board.user_id])


def test_a_delivery_that_is_repeated_is_one_message(board: Channel) -> None:
    whole = deliver(board)
    again = {"delivery_id": whole.deliveries.get().id, "notification_id": whole.id}
    assert boards.post(board.id, "again", **again) is None
    assert BoardMessage.objects.count() == 1


def test_a_full_board_loses_its_oldest_messages(board: Channel) -> None:
    other = make_channel(make_user(), "board")
    boards.post(other.id, "theirs")
    for number in range(boards.STORED + 3):
        boards.post(board.id, str(number))
    assert texts(board) == [str(number) for number in reversed(range(3, boards.STORED + 3))]
    assert BoardMessage.objects.filter(board=board).count() == boards.STORED
    assert texts(other) == ["theirs"]


def test_after_an_id_only_newer_ones_are_read(board: Channel) -> None:
    first = boards.post(board.id, "first")
    boards.post(board.id, "second")
    assert first is not None
    assert texts(board, first.id) == ["second"]


def test_a_text_is_cut_where_it_is_too_long(board: Channel) -> None:
    deliver(board, subject="Long", body="x" * 9_000)
    [text] = texts(board)
    assert len(text) <= 4_000 and text.startswith("Long\n\nxxx")


def test_the_state_of_an_account_has_the_mark_of_each_board(ada: User, board: Channel) -> None:
    def marks() -> dict[str, str]:
        return dict(inbox_state.states([ada.pk])[ada.pk]["boards"])

    assert marks() == {str(board.id): boards.mark([])}
    whole = deliver(board)
    before = marks()
    assert before == {str(board.id): boards.mark(boards.messages(board))}
    acknowledge.acknowledge(whole.id)
    assert marks() != before
    assert marks() == {str(board.id): boards.mark(boards.messages(board))}
    changes.remove(board)
    assert marks() == {}


def test_a_board_that_is_removed_keeps_nothing_and_takes_nothing(board: Channel) -> None:
    boards.post(board.id, "old")
    changes.remove(board)
    assert boards.post(board.id, "new") is None
    assert not BoardMessage.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_ids_grow_in_the_order_of_commits(board: Channel) -> None:
    """One that is read by its id hides none that is committed later."""
    seen: list[int] = []

    def write() -> None:
        try:
            for _ in range(10):
                boards.post(board.id, "x")
        finally:
            connection.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        seen += [one.id for one in reversed(boards.messages(board, seen[-1] if seen else 0))]
    seen += [one.id for one in reversed(boards.messages(board, seen[-1] if seen else 0))]
    assert seen == sorted(BoardMessage.objects.values_list("id", flat=True))
    assert len(seen) == 40


@pytest.mark.django_db(transaction=True)
def test_a_full_board_that_many_write_on_stays_full_and_a_removed_one_empty(board: Channel) -> None:
    """Four write beyond the bound at the same time; then the board is removed meanwhile."""
    for _ in range(boards.STORED - 1):
        boards.post(board.id, "old")
    sent: list[BoardMessage | None] = []

    def write() -> None:
        try:
            for _ in range(30):
                sent.append(boards.post(board.id, "new"))
        finally:
            connection.close()

    def run(meanwhile: Callable[[], object]) -> None:
        threads = [threading.Thread(target=write) for _ in range(4)]
        for one in threads:
            one.start()
        meanwhile()
        for one in threads:
            one.join()

    run(lambda: None)
    newest = sorted(one.id for one in sent if one is not None)[-boards.STORED :]
    assert [one.id for one in reversed(boards.messages(board))] == newest
    run(lambda: changes.remove(board))
    assert len(sent) == 240 and not BoardMessage.objects.filter(board=board).exists()


def test_the_address_of_a_board_ends_with_its_account(ada: User) -> None:
    board = make_channel(ada, "board")
    token = BOARD.token(board.link_id or board.id)
    assert boards.addressed(token) == board
    User.objects.update(is_active=False)
    assert boards.addressed(token) is None
