"""What every kind of job keeps to: its words, its form, and what it does with payloads that no form made."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.uuid7 import uuid7
from jobs import kinds
from jobs.checks import steps
from jobs.kinds.base import LONGEST_FRESH, Ask, Found, JobKind, Nothing, Say, Source
from jobs.reading.fetch import Fetch, Later, Refused
from notifications.messages import text
from tests.db.jobs.sample_kinds.sample import Sample
from tests.documented import example
from tests.make import make_user
from work.reasons import Codes, Reason

HOSTILE: list[dict[str, Any]] = [
    {},
    {"nothing": 1},
    *[
        {name: value}
        for name in ("value", "url", "login", "steps", "path", "when", "period")
        for value in (None, 7, [], {}, "x" * 5_000, "\N{PILE OF POO}", "' OR 1=1 --", "http://169.254.169.254/")
    ],
]
KINDS = [*kinds.all(), Sample(), example("adding-a-job-kind.md", "jobs.kinds.tides").Tides()]

of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


def ask_of(kind: JobKind, payload: dict[str, Any], with_source: bool = True) -> Ask:
    now = datetime(2026, 6, 1, 12, tzinfo=UTC)
    source = Source(id=uuid4(), label="Mine", address={}, secrets={}) if kind.connection and with_source else None
    return Ask(
        user_id=make_user().pk,
        origin_id=uuid7(),
        zone=ZoneInfo("Europe/Berlin"),
        slot=now,
        now=now,
        payload=payload,
        source=source,
    )


def initial(kind: JobKind) -> dict[str, Any]:
    """What the API takes for a payload that says nothing."""
    return {name: field.initial for name, field in kind.form.base_fields.items() if field.initial is not None}


@of_each_kind
def test_its_words_are_there_and_its_placeholders_are_known(kind: JobKind) -> None:
    assert kind.label and kind.about.endswith(".") and re.fullmatch("[a-z_]{1,40}", kind.name)
    assert all(re.fullmatch("[a-z_]{1,40}", name) for name in kind.placeholders)
    assert not kind.placeholders.keys() & {*text.NAMES}
    assert all(kind.placeholders.values())
    for template in (str(kind.title), str(kind.body)):
        assert text.check(template, tuple(kind.placeholders)) == []
    assert len(kind.title) <= text.MAX_SUBJECT and len(kind.body) <= text.MAX_BODY
    assert bool(kind.title) or not kind.speaks


@of_each_kind
def test_its_limits_are_within_those_of_the_engine(kind: JobKind) -> None:
    assert 0 < kind.deadline <= 60
    assert 0 <= kind.fresh_for <= LONGEST_FRESH
    assert 1 <= kind.policy.tries <= 20 and len(kind.policy.waits) >= min(1, kind.policy.tries - 1)
    assert kind.queue and (kind.connection or kind.needs_connection)


@of_each_kind
def test_the_codes_of_its_reasons_have_sentences_that_fit_explain(kind: JobKind) -> None:
    module = __import__(type(kind).__module__, fromlist=["Code"])
    codes = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Codes)]
    assert codes
    for code in (code for one in codes for code in one):
        assert len(code) <= 32 and code.text and not code.text.endswith(" "), code


@of_each_kind
def test_its_form_says_what_is_right_and_takes_no_endless_text(kind: JobKind) -> None:
    for name, field in kind.form.base_fields.items():
        assert name not in {"kind", "shown"} and "-" not in name
        assert field.label or name, name
        plain = isinstance(field, forms.CharField) and type(field.widget) in (forms.TextInput, forms.Textarea)
        if plain:
            assert getattr(field, "max_length", None), f"{name} takes a text of any length"
        if field.required and field.initial is None and not isinstance(field, forms.BooleanField):
            assert field.error_messages["required"] != forms.Field().error_messages["required"], name


@of_each_kind
def test_a_payload_that_no_form_made_is_refused_in_words_and_never_raises(kind: JobKind) -> None:
    for payload in HOSTILE:
        given = deepcopy(payload)
        assert isinstance(kind.summary(payload), str), payload
        ask = ask_of(kind, payload)
        json.dumps(kind.question(ask))
        found = steps.check(kind, ask, deadline=0.05, keep=False)
        assert isinstance(found, Found | Later | Refused), payload
        if isinstance(found, Found):
            json.dumps(found.value)
            assert isinstance(kind.decide(ask, found.value), Say | Nothing), payload
        else:
            assert isinstance(found.reason, Reason) and str(found.reason), payload
        assert payload == given


@of_each_kind
def test_an_empty_payload_is_not_tried_again_where_the_form_wants_more(kind: JobKind) -> None:
    if not any(field.required for field in kind.form.base_fields.values()):
        pytest.skip("it needs no payload")
    assert isinstance(steps.check(kind, ask_of(kind, {}), deadline=0.05, keep=False), Refused)


@of_each_kind
def test_what_its_form_stores_is_json_and_comes_back_as_it_was_typed(kind: JobKind) -> None:
    form = kind.form(initial(kind) | dict(kind.example))
    assert form.is_valid(), (kind.name, form.errors)
    stored = kind.payload(form.cleaned_data)
    assert json.loads(json.dumps(stored)) == stored
    shown = kind.form_initial(stored)
    json.dumps(shown)
    assert shown.keys() <= form.fields.keys()
    again = kind.form(shown)
    assert (again.errors, kind.payload(again.cleaned_data)) == ({}, stored)
    assert kind.summary(stored)
    assert json.dumps(kind.question(ask_of(kind, stored)))


@of_each_kind
def test_its_decision_asks_neither_database_nor_network(kind: JobKind, monkeypatch: pytest.MonkeyPatch) -> None:
    found = steps.check(kind, ask_of(kind, dict(kind.example)), deadline=0.05, keep=False)
    if not isinstance(found, Found):
        pytest.skip("it needs a source that answers")
    monkeypatch.setattr(Fetch, "_request", None)
    ask = ask_of(kind, dict(kind.example))
    with CaptureQueriesContext(connection) as asked:
        first, second = kind.decide(ask, found.value), kind.decide(replace(ask), found.value)
    assert (len(asked), type(first), first.reason) == (0, type(second), second.reason)
