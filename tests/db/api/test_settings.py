"""The settings of the account over the API, by the form of the page."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest

from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields

pytestmark = pytest.mark.django_db


def test_what_is_given_changes_and_the_rest_stays(api: Api, ada: User) -> None:
    User.objects.filter(id=ada.id).update(theme="dark", quiet_from="22:00", quiet_until="07:00")
    before = api.get("/me/settings").json()
    changed = api("PATCH", "/me/settings", {"name": "Ada Lovelace", "language": "de"})
    assert changed.status_code == 200, changed.content
    assert changed.json() == before | {"name": "Ada Lovelace", "language": "de"} == api.get("/me/settings").json()
    ada.refresh_from_db()
    assert (ada.name, ada.theme, ada.keyboard_shortcuts) == ("Ada Lovelace", "dark", True)


def test_quiet_hours_are_set_and_removed(api: Api, ada: User) -> None:
    hours = {"quiet_from": "22:00", "quiet_until": "07:30"}
    assert api("PATCH", "/me/settings", hours).json() | hours == api.get("/me/settings").json()
    ada.refresh_from_db()
    assert (ada.quiet_from, ada.quiet_until) == (time(22), time(7, 30))
    assert api("PATCH", "/me/settings", dict.fromkeys(hours)).json()["quiet_from"] is None


def test_hours_by_weekday_and_public_holidays_are_set_and_removed(api: Api, ada: User) -> None:
    given = {"weekly_hours": {"sat": ["10:00", "12:00:00"], "mon": ["08:00", "18:00"]}, "public_holidays": "de-bayern"}
    stored = {"weekly_hours": {"mon": ["08:00", "18:00"], "sat": ["10:00", "12:00"]}, "public_holidays": "DE-BY"}
    answer = api("PATCH", "/me/settings", given).json()
    assert answer | stored == answer == api.get("/me/settings").json()
    assert api.get("/me").json()["weekly_hours"] == stored["weekly_hours"]
    assert api("PATCH", "/me/settings", {"weekly_hours": {}}).json()["weekly_hours"] == {}


def test_what_is_read_can_be_sent_back(api: Api) -> None:
    read = api.get("/me/settings").json()
    assert api("PATCH", "/me/settings", read).json() == read


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"time_zone": "Mars/Base"}, "time_zone"),
        ({"language": "tlh"}, "language"),
        ({"name": "x" * 151}, "name"),
        ({"name": None}, "name"),
        ({"quiet_from": "25:00", "quiet_until": "07:00"}, "quiet_from"),
        ({"quiet_from": "22:00"}, "quiet_until"),
        ({"weekly_hours": {"mon": ["08:00"]}}, "weekly_hours"),
        ({"weekly_hours": {"monday": ["08:00", "18:00"]}}, "weekly_hours"),
        ({"weekly_hours": {"mon": ["08:00", "24:00"]}}, "weekly_hours"),
        ({"weekly_hours": {"mon": ["08:00", "18:00"]}, "quiet_from": "22:00", "quiet_until": "07:00"}, "weekly_hours"),
        ({"public_holidays": "XX"}, "public_holidays"),
        ({"public_holidays": "DE-XX"}, "public_holidays"),
        ({"email": "new@example.org"}, "email"),
        ({"is_staff": True}, "is_staff"),
    ],
)
def test_bad_input_names_its_field_and_changes_nothing(api: Api, ada: User, given: dict[str, Any], field: str) -> None:
    assert wrong_fields(api("PATCH", "/me/settings", {"name": "New"} | given)) == [field]
    ada.refresh_from_db()
    assert (ada.name, ada.is_staff) == ("Ada", False)


def test_the_scope_is_needed_to_change_them(ada: User) -> None:
    reader = Api(ada, ("read", "schedules"))
    assert reader.get("/me/settings").status_code == 200
    assert reader("PATCH", "/me/settings", {"name": "New"}).json()["code"] == "scope"


def test_changing_them_takes_nine_statements(api: Api) -> None:
    api.get("/me")
    with at_most(9):
        api("PATCH", "/me/settings", {"name": "New"})
