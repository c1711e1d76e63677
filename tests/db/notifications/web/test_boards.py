"""The page of a board: everybody of the account sees it, and its members write."""

from __future__ import annotations

import pytest
from django.test import Client

from notifications.deliveries import boards
from notifications.models import Channel
from people import teams
from people.models import Membership, Role, User
from tests.make import make_channel, make_delivery, make_user, send_now, signed_in


@pytest.fixture
def board(ada: User) -> Channel:
    return make_channel(teams.create(ada, "Family"), "board", label="Kitchen")


def member(board: Channel, person: User, role: str = Role.MEMBER) -> Client:
    """A browser that acts for the board's team."""
    Membership.objects.get_or_create(team=board.user, person=person, defaults={"role": role})
    browser = signed_in(person)
    browser.post("/teams/act/", {"team": board.user_id})
    return browser


def page(board: Channel) -> str:
    return f"/boards/{board.id}/"


def test_what_one_member_writes_another_reads(ada: User, board: Channel) -> None:
    answer = member(board, ada).post(page(board), {"text": "Milk is <out>"})
    assert (answer.status_code, answer["Location"]) == (302, page(board))
    seen = member(board, make_user()).get(page(board)).content.decode()
    assert "Milk is &lt;out&gt;" in seen and "Ada" in seen


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Write something first."),
        ("x" * 4_001, "This is 4001 characters long; at most 4000 fit."),
        ("a\x1b[0m", "This contains a control character. Remove it."),
    ],
    ids=["empty", "long", "control"],
)
def test_what_cannot_be_written_is_kept_in_the_form(ada: User, board: Channel, text: str, problem: str) -> None:
    answer = member(board, ada).post(page(board), {"text": text})
    assert answer.status_code == 200
    assert problem in answer.content.decode()
    assert boards.messages(board) == []


def test_a_viewer_reads_and_a_stranger_finds_nothing(ada: User, board: Channel) -> None:
    boards.post(board.id, "Milk")
    viewer = member(board, make_user(), Role.VIEWER)
    assert "Milk" in viewer.get(page(board)).content.decode()
    assert viewer.post(page(board), {"text": "no"}).status_code == 403
    stranger = signed_in(make_user())
    assert stranger.get(page(board)).status_code == 404
    assert stranger.post(page(board), {"text": "no"}).status_code == 404
    assert len(boards.messages(board)) == 1


def test_who_is_removed_reads_nothing_more(ada: User, board: Channel) -> None:
    bob = make_user()
    browser = member(board, bob)
    Membership.objects.get(person=bob).delete()
    assert browser.get(page(board)).status_code == 403
    assert browser.get(page(board)).status_code == 404


def test_done_on_the_board_is_done_for_all_and_leads_back(ada: User, board: Channel) -> None:
    delivery = make_delivery(board, origin="schedule", subject="Bins")
    send_now(delivery.id)
    browser = member(board, ada)
    assert "Done" in browser.get(page(board)).content.decode()
    answer = browser.post(f"/history/{delivery.notification_id}/answer/", {"answer": "acknowledge", "board": board.id})
    assert answer["Location"] == page(board)
    assert "It was Ada" in member(board, make_user()).get(page(board)).content.decode()


def test_one_person_writes_so_often_a_minute(ada: User, board: Channel) -> None:
    browser = member(board, ada)
    answers = [browser.post(page(board), {"text": str(number)}) for number in range(31)]
    assert [one.status_code for one in answers] == [302] * 30 + [200]
    assert "which is the limit" in answers[-1].content.decode()
    assert member(board, make_user()).post(page(board), {"text": "still"}).status_code == 302


def test_the_list_names_the_boards_of_the_account(ada: User, board: Channel) -> None:
    make_channel(make_user(), "board", label="Theirs")
    seen = member(board, ada).get("/boards/").content.decode()
    assert "Kitchen" in seen and "Theirs" not in seen


def test_a_new_board_is_shown_at_once(ada: User, board: Channel) -> None:
    answer = member(board, ada).post("/channels/new/board/", {"label": "Hall"})
    assert answer["Location"] == page(board.user.channels.get(label="Hall"))
