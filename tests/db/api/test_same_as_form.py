"""Form and API accept and refuse the same: one table of inputs goes to both, and the errors are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils.http import urlencode

from people.models import User
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule
from tests.db.api.conftest import Api, clock_at, wrong_fields
from tests.db.api.inputs import FRIENDLY, FRIENDLY_REFUSED, REFUSED, TAKEN, daily
from tests.make import NOON, make_channel

pytestmark = pytest.mark.django_db

_OF_TIMINGS = {
    "once": {"at"},
    "interval": {"every", "unit", "anchor"},
    "daily": {"time"},
    "weekly": {"days", "time"},
    "monthly": {"day", "short", "time"},
    "cron": {"expression"},
    "rrule": {"rule"},
}
_COMPARED = (
    "title",
    "body",
    "kind",
    "rule",
    "time_zone",
    "starts_at",
    "ends_at",
    "excluded",
    "max_count",
    "after_done",
    "spread",
    "misfire",
    "grace",
    "urgent",
    "stale_after",
    "escalate_after",
    "nag_every",
    "nag_times",
    "nag_channel_ids",
    "early",
    "channel_order",
    "category",
    "state",
    "next_fire_at",
)


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    with clock_at(NOON):
        yield


_CHANNELS: dict[str, dict[str, Any]] = {
    "inbox": {},
    "hook": {"provider": "webhook"},
    "unverified": {"provider": "email", "verified_at": None},
    "removed": {"provider": "webhook", "removed_at": "2026-01-01T00:00Z"},
}


def whole(ada: User, overrides: dict[str, Any]) -> dict[str, Any]:
    """The body, with the channels that it names."""
    body = {"title": "Rent", "time_zone": "Europe/Berlin", "channel_ids": ["inbox"]} | daily("09:00") | overrides
    own = {name: str(make_channel(ada, **fields).id) for name, fields in _CHANNELS.items() if name in str(body)}
    for field in {"channel_ids", "nag_channel_ids"} & body.keys():
        body[field] = [own.get(name, name) for name in body[field]]
    return body


def typed(body: dict[str, Any]) -> dict[str, Any]:
    """What a browser sends for the same."""
    fields = {name: value for name, value in body.items() if name not in ("timing", "in_order", "excluded", "urgent")}
    fields["channels"] = fields.pop("channel_ids")
    [(kind, parameters)] = body["timing"].items()
    fields |= {"kind": kind} | parameters
    fields["excluded"] = ", ".join(body.get("excluded", []))
    fields["early"] = ", ".join(f"{minutes} minutes" for minutes in body.get("early", []))
    if body.get("urgent"):
        fields["urgent"] = "on"
    if body.get("in_order"):
        fields["one_by_one"] = "order"
        fields |= {f"position_{key.replace('-', '')}": n for n, key in enumerate(body["channel_ids"], 1)}
    return fields


def named(kind: str, field: str) -> str:
    """The name in the API of a field of the form."""
    if field in _OF_TIMINGS[kind]:
        return f"timing.{kind}.{field}"
    return {"one_by_one": "in_order", "kind": "timing", "channels": "channel_ids"}.get(field, field)


def made() -> list[dict[str, Any]]:
    rows = Schedule.objects.order_by("id")
    return [
        {name: getattr(row, name) for name in _COMPARED} | {"channel_ids": {one.id for one in row.channels.all()}}
        for row in rows
    ]


@pytest.mark.parametrize("overrides", TAKEN, ids=lambda one: str(one)[:60])
def test_both_take_it_and_make_the_same_of_it(ada: User, browser: Client, api: Api, overrides: dict[str, Any]) -> None:
    body = whole(ada, overrides)
    by_form = browser.post("/reminders/new/", typed(body))
    assert by_form.status_code == 302, by_form.context["form"].errors
    by_api = api.post("/schedules", body)
    assert by_api.status_code == 201, by_api.content
    first, second = made()
    assert first == second


@pytest.mark.parametrize(("field", "overrides"), REFUSED, ids=lambda one: str(one)[:60])
def test_both_refuse_it_at_the_same_field_in_the_same_words(
    ada: User, api: Api, field: str, overrides: dict[str, Any]
) -> None:
    body = whole(ada, overrides)
    [kind] = body["timing"]
    errors = ReminderForm(QueryDict(urlencode(typed(body), doseq=True)), user=ada, now=NOON).errors
    answer = api.post("/schedules", body)
    assert answer.status_code == 422
    told = [(one["field"], one["detail"]) for one in answer.json()["errors"]]
    assert field in {name for name, _ in told}
    assert all(one["code"] for one in answer.json()["errors"])
    assert sorted(told) == sorted((named(kind, name), text) for name, texts in errors.items() for text in texts)
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(("timing", "fields"), FRIENDLY, ids=lambda one: str(one)[:60])
def test_a_friendly_timing_is_what_a_person_types(
    browser: Client, ada: User, api: Api, timing: dict[str, Any], fields: dict[str, Any]
) -> None:
    body = whole(ada, {})
    by_form = browser.post("/reminders/new/", typed(body) | fields)
    assert by_form.status_code == 302, by_form.context["form"].errors
    by_api = api.post("/schedules", body | {"timing": timing})
    assert by_api.status_code == 201, by_api.content
    first, second = made()
    assert first == second


@pytest.mark.parametrize(("field", "timing"), FRIENDLY_REFUSED, ids=lambda one: str(one)[:60])
def test_a_wrong_friendly_timing_is_refused_at_its_field(
    ada: User, api: Api, field: str, timing: dict[str, Any]
) -> None:
    answer = api.post("/schedules", whole(ada, {"timing": timing}))
    assert wrong_fields(answer) == [field]
    assert len(answer.json()["errors"][0]["detail"]) > 10
    assert not Schedule.objects.exists()


def test_the_table_is_large() -> None:
    assert len(TAKEN) + len(REFUSED) + len(FRIENDLY) >= 200
