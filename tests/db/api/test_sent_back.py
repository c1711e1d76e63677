"""A document that was read may be sent back whole; what cannot be changed is named where it differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from demo.receivers import HTTPReceiver
from demo.receivers.github import GitHub
from events.models import RegisteredType, Topic
from notifications import providers
from people.models import User
from tests.db.api.conftest import Api
from tests.make import make_channel, make_connection
from tests.network import served

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def github(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with served(GitHub({"ada": {}}).answer) as receiver:
        yield receiver


@pytest.fixture(params=["inbox", "email", "webhook", "queue", "status", "connection", "topic", "type"])
def path(request: pytest.FixtureRequest, ada: User, github: HTTPReceiver) -> str:
    """The path of one of each thing that `PATCH` changes."""
    match request.param:
        case "connection":
            return f"/connections/{make_connection(ada).id}"
        case "topic":
            return f"/topics/{Topic.objects.create(user=ada, slug='news', name='News').slug}"
        case "type":
            type = RegisteredType.objects.create(user=ada, name="order.paid", data_schema='{"type":"object"}')
            return f"/event-types/{type.id}"
        case "webhook" | "status" as kind:
            made = providers.get(kind).destination({"url": f"{github.origin}/hook", "types": ["delivery.*"]})
            channel = make_channel(ada, kind, dict(made.secrets), address=dict(made.address))
            return f"/{'status-webhooks' if kind == 'status' else 'channels'}/{channel.id}"
        case kind:
            return f"/channels/{make_channel(ada, kind).id}"


def test_a_document_that_is_sent_back_changes_nothing(api: Api, path: str) -> None:
    read = api.get(path)
    answer = api("PATCH", path, read.json(), If_Match=read["ETag"])
    assert answer.status_code == 200, answer.content
    assert {name: answer.json()[name] for name in read.json()} == read.json()
    assert api.get(path)["ETag"] == read["ETag"]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"created_at": "2001-01-01T00:00:00Z"}, {"created_at": "read_only"}),
        ({"id": "1", "nonsense": 1}, {"id": "read_only", "nonsense": "extra_forbidden"}),
    ],
)
def test_what_cannot_be_changed_is_named(api: Api, path: str, others: dict[str, Any], expected: dict[str, str]) -> None:
    answer = api("PATCH", path, others)
    assert answer.status_code == 422
    assert {one["field"]: one["code"] for one in answer.json()["errors"]} == expected
