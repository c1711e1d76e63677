"""Boards over the API, and by the address to which programs post."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from notifications.channels import changes
from notifications.deliveries import acknowledge, boards
from notifications.models import Channel
from people.models import User
from tests.db.api.conftest import Api, wrong_fields
from tests.make import make_channel, make_delivery, make_user, send_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(ada: User) -> Channel:
    return make_channel(ada, "board", label="Kitchen")


def texts(board: Channel) -> list[str]:
    return [one.text for one in boards.messages(board)]


def path_of(board: Channel) -> str:
    board.refresh_from_db()
    return urlsplit(boards.address(board)).path


def test_a_program_writes_and_reads_what_came_after(api: Api, board: Channel) -> None:
    path = f"/boards/{board.id}/messages"
    answers = [api.post(path, {"text": text}) for text in ("one", "two")]
    first, second = [one.json() for one in answers]
    assert [one.status_code for one in answers] == [201, 201]
    assert first["text"] == "one" and first["author"] and first["id"] < second["id"]
    assert [one["text"] for one in api.get(path).json()["items"]] == ["one", "two"]
    assert api.get(f"{path}?after={first['id']}").json()["items"] == [second]


def test_a_repeated_request_writes_once(api: Api, board: Channel) -> None:
    for _ in range(3):
        api.post(f"/boards/{board.id}/messages", {"text": "one"}, Idempotency_Key="a")
    assert texts(board) == ["one"]


def test_a_program_reads_who_has_done_what_a_reminder_brought(api: Api, ada: User, board: Channel) -> None:
    delivery = make_delivery(board, origin="schedule")
    send_now(delivery.id)
    acknowledge.acknowledge(delivery.notification_id, by=ada)
    [one] = api.get(f"/boards/{board.id}/messages").json()["items"]
    assert (one["notification_id"], one["acknowledged_by"]) == (str(delivery.notification_id), ada.get_full_name())
    assert one["acknowledged_at"]


@pytest.mark.parametrize("text", ["", " \n ", "x" * 4_001, "a\x1b"], ids=["empty", "blank", "long", "control"])
def test_what_cannot_be_written_is_refused_by_its_field(api: Api, board: Channel, text: str) -> None:
    assert wrong_fields(api.post(f"/boards/{board.id}/messages", {"text": text})) == ["text"]
    assert texts(board) == []


def test_what_is_no_board_of_the_caller_is_not_found(api: Api, ada: User) -> None:
    for channel in (make_channel(make_user(), "board"), make_channel(ada)):
        assert api.get(f"/boards/{channel.id}/messages").status_code == 404
        assert api.post(f"/boards/{channel.id}/messages", {"text": "x"}).status_code == 404


def test_a_token_that_reads_writes_nothing(ada: User, board: Channel) -> None:
    reader = Api(ada, ["read"])
    assert reader.get(f"/boards/{board.id}/messages").status_code == 200
    assert reader.post(f"/boards/{board.id}/messages", {"text": "x"}).status_code == 403


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("Milk is out", "text/plain"),
        ("Milk is out", "application/x-www-form-urlencoded"),  # what curl says of it
        ('{"text": "Milk is out", "channel": "#home"}', "application/json"),
        ("text=Milk+is+out", "application/x-www-form-urlencoded"),
    ],
)
def test_a_program_posts_text_to_the_address(board: Channel, body: str, content_type: str) -> None:
    answer = Client().post(path_of(board), body, content_type=content_type)
    assert (answer.status_code, texts(board)) == (201, ["Milk is out"])


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 422, "Write something first."),
        (b"{}", 422, "Write something first."),
        (b'{"text": 5}', 422, "Write something first."),
        (b'{"text": ', 400, "line 1"),
        (b"\xff\xfe", 400, "UTF-8"),
        (b"x" * 5_000, 422, "at most 4000 fit"),
        (b"x" * 1_000_000, 413, "64 KiB"),
        (b"a\x1b[0m", 422, "control character"),
    ],
    ids=["empty", "no text", "number", "half", "bytes", "long", "megabyte", "control"],
)
def test_what_cannot_be_written_is_refused_in_words(board: Channel, body: bytes, status: int, words: str) -> None:
    answer = Client().post(path_of(board), body, content_type="text/plain")
    assert (answer.status_code, texts(board)) == (status, [])
    assert words in answer.json()["detail"]


def test_a_form_with_a_file_is_no_text(board: Channel) -> None:
    answer = Client().post(path_of(board), {"text": BytesIO(b"a file")})
    assert (answer.status_code, texts(board)) == (422, [])
    assert Client().post(path_of(board), {"text": "Milk is out"}).status_code == 201
    assert texts(board) == ["Milk is out"]


def test_a_replaced_address_and_that_of_a_removed_board_take_nothing(
    ada: User, browser: Client, board: Channel
) -> None:
    def post(path: str) -> int:
        return Client().post(path, "x", content_type="text/plain").status_code

    before = path_of(board)
    assert before in browser.get(f"/boards/{board.id}/").content.decode()
    browser.post(f"/boards/{board.id}/", {"replace": ""})
    assert post(before) == 404 and post(path_of(board)) == 201
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert post(path_of(board)) == 404
    User.objects.filter(pk=ada.pk).update(is_active=True)
    changes.remove(board)
    assert post(path_of(board)) == post("/in/boards/garbage") == 404


def test_many_messages_a_minute_are_refused(board: Channel, settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    answers = [Client().post(path_of(board), "x", content_type="text/plain") for _ in range(3)]
    assert [one.status_code for one in answers] == [201, 201, 429]
    assert answers[-1]["Retry-After"]
