"""The provider and the kind of job that the pages on adding one build can be imported and run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django import forms
from pytest_django import Settings

from demo.receivers import HTTPReceiver, Reply
from jobs.kinds.base import Ask, Found, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused
from notifications.channels.forms import change_form
from notifications.messages.message import Delivered, Destination, Rejected
from notifications.net.http import Response
from notifications.providers.base import Provider
from tests.documented import example
from tests.network import make_message
from work.answers import Retryable

TYPED = {"loft": "north-tower", "token": "pgn_" + "planted" * 2 + "planted"[:6]}


@pytest.fixture(scope="module")
def pigeon() -> ModuleType:
    return example("adding-a-provider.md", "notifications.providers.pigeon")


@pytest.fixture(scope="module")
def tides() -> Any:
    return example("adding-a-job-kind.md", "jobs.kinds.tides").Tides()


@pytest.fixture
def service(pigeon: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver() as receiver:
        monkeypatch.setattr(pigeon, "MESSAGES", f"{receiver.origin}/v1/messages")
        yield receiver


def made(provider: Provider) -> Destination:
    form = provider.form(TYPED)
    assert form.is_valid(), form.errors
    return provider.destination(form.cleaned_data)


def test_the_provider_sends_what_its_service_takes(pigeon: ModuleType, service: HTTPReceiver) -> None:
    provider = pigeon.Pigeon()
    service.answer = Reply(201)
    assert provider.send(make_message(body="*Now*"), made(provider)) == Delivered()
    [request] = service.requests
    assert (request.path, request.headers["Authorization"]) == ("/v1/messages", f"Bearer {TYPED['token']}")
    assert json.loads(request.body) == {"loft": "north-tower", "title": "Water the plants", "text": r"\*Now\*"}


@pytest.mark.parametrize(("status", "meaning"), [(404, Rejected), (401, Rejected), (429, Retryable), (503, Retryable)])
def test_the_provider_says_what_an_answer_means(
    pigeon: ModuleType, service: HTTPReceiver, status: int, meaning: type[object]
) -> None:
    provider = pigeon.Pigeon()
    service.answer = Reply(status)
    answer = provider.send(make_message(), made(provider))
    assert isinstance(answer, meaning) and "planted" not in repr(answer)
    assert isinstance(provider.send(make_message(), Destination({})), Rejected)
    assert getattr(answer, "gone", False) == (status == 404)


def test_its_messages_keep_their_links(pigeon: ModuleType) -> None:
    links = {"answer_url": f"https://carillon.example/answer/{'0a' * 48}/", "body": "x" * 5_000}
    links["unsubscribe_url"] = links["answer_url"].replace("answer", "unsubscribe")
    body = pigeon.Pigeon().render(make_message(**links), Destination({})).body
    assert (body.length, body.text.count("https://")) == (pigeon.Pigeon.limits.body, 2)


def test_a_field_without_a_label_has_a_name_for_people(pigeon: ModuleType) -> None:
    class WithoutLabels(forms.Form):
        loft = forms.CharField()
        token = forms.CharField(required=False)

    provider = pigeon.Pigeon()
    provider.form = WithoutLabels
    form = change_form(None, provider, Destination({"loft": "a"}, {"token": "planted"}))
    assert [field.label for field in form] == ["Loft", "Token", "Delete the stored token"]


def ask(**payload: Any) -> Ask:
    now = datetime(2026, 6, 1, 12, tzinfo=UTC)
    return Ask(user_id=1, origin_id=None, zone=ZoneInfo("UTC"), slot=now, now=now, payload=payload)


def answered(monkeypatch: pytest.MonkeyPatch, status: int, body: bytes) -> Fetch:
    monkeypatch.setattr(Fetch, "_request", lambda *_: Response(status, {}, body))
    return Fetch(1.0)


def test_the_kind_of_job_speaks_or_stays_silent(tides: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = answered(monkeypatch, 200, b"6.25")
    low, high = ask(station="dover", above=7.0), ask(station="dover", above=5.0)
    found = tides.check(low, fetch)
    assert found == Found(6.25)
    assert isinstance(tides.decide(low, found.value), Nothing)
    said = tides.decide(high, found.value)
    assert isinstance(said, Say) and said.words == {"metres": "6.25", "station": "dover"}


def test_the_kind_of_job_says_why_it_cannot_check(tides: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    high = ask(station="dover", above=5.0)
    assert isinstance(tides.check(high, answered(monkeypatch, 200, b"high")), Later)
    assert isinstance(tides.check(high, answered(monkeypatch, 503, b"")), Later)
    assert isinstance(tides.check(high, answered(monkeypatch, 404, b"")), Refused)
    assert isinstance(tides.check(ask(), answered(monkeypatch, 200, b"6.25")), Refused)
