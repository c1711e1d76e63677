"""One line becomes the body of a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from people.models import User
from schedules.models import Schedule
from tests.db.api.conftest import Api, clock_at, wrong_fields
from tests.make import NOON, make_channel


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    """Monday 1 June 2026, 14:00 in Berlin."""
    with clock_at(NOON):
        yield


def test_the_api_says_what_a_line_means_and_the_answer_creates_it(
    api: Api, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(2):  # the token, and its last use
        answer = api.post(
            "/schedules/quick-add", {"text": "yoga every 2 weeks on Monday 18:00", "time_zone": "Europe/Berlin"}
        )
    found = answer.json()
    assert answer.status_code == 200, found
    assert (found["title"], found["time_zone"], found["next_run_at"]) == (
        "yoga",
        "Europe/Berlin",
        "2026-06-01T16:00:00Z",
    )
    assert not Schedule.objects.exists()
    body = {name: value for name, value in found.items() if name not in ("description", "next_run_at")}
    made = api.post("/schedules", body | {"channel_ids": [str(make_channel(ada).id)]})
    assert made.status_code == 201, made.json()
    assert {name: made.json()[name] for name in found} == found


def test_what_may_mean_two_things_is_refused_with_both(api: Api) -> None:
    answer = api.post("/schedules/quick-add", {"text": "dentist 3/4/2031 9am"})
    assert answer.status_code == 422
    said = str(answer.json()["errors"])
    assert "“dentist 2031-03-04 9am” or “dentist 2031-04-03 9am”" in said


@pytest.mark.parametrize("text", ["meeting 3/4/2031 at 5", "trip 7-8-2031 at 6:00"])
def test_a_date_in_figures_beside_a_time_is_asked_about(api: Api, text: str) -> None:
    assert wrong_fields(api.post("/schedules/quick-add", {"text": text})) == ["text"]


@pytest.mark.parametrize(
    ("text", "at"),
    [("dentist 12/24/2031 9am", "2031-12-24T09:00:00"), ("party 2031/03/04 18:00", "2031-03-04T18:00:00")],
)
def test_a_date_in_figures_that_means_one_day_is_read(api: Api, text: str, at: str) -> None:
    assert api.post("/schedules/quick-add", {"text": text}).json()["timing"] == {"once": {"at": at}}


def test_a_span_of_hours_begins_with_its_first(api: Api) -> None:
    answer = api.post("/schedules/quick-add", {"text": "standup 9-10am tomorrow", "time_zone": "Europe/Berlin"})
    assert (answer.json()["title"], answer.json()["next_run_at"]) == ("standup", "2026-06-02T07:00:00Z")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "call mum"}, "text"),
        ({"text": "tomorrow 9"}, "text"),
        ({"text": ""}, "text"),
        ({"text": "x" * 301}, "text"),
        ({"text": "yoga every day until tomorrow for 3 days"}, "text"),
        ({"text": "tomorrow 9 yoga", "time_zone": "Mars/Base"}, "time_zone"),
        ({"text": "tomorrow 9 yoga", "zone": "UTC"}, "zone"),
        ({}, "text"),
    ],
)
def test_the_api_refuses_at_the_field(api: Api, body: dict[str, Any], field: str) -> None:
    answer = api.post("/schedules/quick-add", body)
    assert wrong_fields(answer) == [field]
