"""Making and changing a reminder: what is typed becomes a rule, and what is wrong is said at its field."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from notifications.inputs.channels_form import MOST_CHOSEN
from notifications.models import Channel
from people.models import User
from schedules.changes import editing
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule
from tests.db.schedules.web.typed import typed
from tests.make import NOON, make_channel, make_schedule, make_user

KINDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"kind": "once", "at": "2999-03-29T09:00"}, {"at": "2999-03-29T09:00:00"}),
    ({"kind": "once", "at": "2999-03-29T09:00:30"}, {"at": "2999-03-29T09:00:30"}),
    (
        {"kind": "interval", "every": "90", "unit": "minutes", "anchor": "2026-01-01T01:00"},
        {"every": 90, "unit": "minutes", "anchor": "2026-01-01T00:00:00+00:00"},
    ),
    (
        {"kind": "interval", "every": "2", "unit": "hours", "anchor": "2026-01-01T01:00:30.5"},
        {"every": 2, "unit": "hours", "anchor": "2026-01-01T00:00:30.500000+00:00"},
    ),
    ({"kind": "daily", "time": "07:30"}, {"time": "07:30"}),
    ({"kind": "weekly", "time": "09:00", "days": ["0", "4"]}, {"time": "09:00", "days": [0, 4]}),
    ({"kind": "monthly", "day": "31", "short": "skip"}, {"time": "09:00", "day": 31, "short": "skip"}),
    ({"kind": "monthly", "day": "last"}, {"time": "09:00", "day": "last", "short": "last"}),
    ({"kind": "cron", "expression": "*/15 9-17 * * mon-fri"}, {"expression": "*/15 9-17 * * mon-fri"}),
]


@pytest.mark.parametrize(("fields", "rule"), KINDS)
def test_each_kind_becomes_its_canonical_rule(
    browser: Client, ada: User, fields: dict[str, Any], rule: dict[str, Any]
) -> None:
    answer = browser.post("/reminders/new/", typed(make_channel(ada), **fields))
    [schedule] = Schedule.objects.for_user(ada)
    assert (schedule.kind, schedule.rule, schedule.time_zone) == (fields["kind"], rule, "Europe/Berlin")
    assert schedule.state == "active"
    assert answer["Location"] == f"/reminders/{schedule.id}/"


@pytest.mark.parametrize(("fields", "rule"), KINDS)
def test_saving_an_edit_unchanged_changes_nothing(
    browser: Client, ada: User, fields: dict[str, Any], rule: dict[str, Any]
) -> None:
    schedule = make_schedule(ada, kind=fields["kind"], rule=rule, time_zone="Europe/Berlin")
    form = browser.get(f"/reminders/{schedule.id}/edit/").context["form"]
    shown = {field.html_name: field.value() for field in form if field.value() is not None}
    assert browser.post(f"/reminders/{schedule.id}/edit/", shown).status_code == 302
    before = (schedule.title, schedule.body, schedule.rule, list(schedule.channels.all()))
    schedule = Schedule.objects.get(id=schedule.id)
    assert (schedule.title, schedule.body, schedule.rule, list(schedule.channels.all())) == before
    assert schedule.version == 1


def test_a_form_names_each_channel_and_its_address(browser: Client, ada: User) -> None:
    make_channel(ada, "webhook", label="Office lights")
    page = browser.get("/reminders/new/").content.decode()
    assert "Office lights" in page and "icons.svg#webhook" in page and "example.org" in page


def test_a_form_offers_no_channel_of_another_one(ada: User) -> None:
    own, foreign = make_channel(ada), make_channel(other := make_user())
    forms = [ReminderForm(None, user=user, now=NOON) for user in (ada, other)]
    offered = [[str(key) for key, _ in form.fields["channels"].choices] for form in forms]  # type: ignore[attr-defined]
    assert offered == [[str(own.id)], [str(foreign.id)]]
    assert [name for name in forms[1].fields if name.startswith("position_")] == [f"position_{foreign.id.hex}"]
    assert own.id.hex in str(forms[0]).replace("-", "")
    assert foreign.id.hex not in str(forms[0]).replace("-", "")


def test_a_reminder_has_at_most_so_many_channels(browser: Client, ada: User) -> None:
    channels = [make_channel(ada, "webhook", label=f"Hook {number}") for number in range(MOST_CHOSEN + 1)]
    refused = browser.post("/reminders/new/", typed(*channels)).context["form"].errors["channels"]
    assert refused == ["Choose at most 20 channels."]
    assert browser.post("/reminders/new/", typed(*channels[1:])).status_code == 302


def test_a_calendar_rule_is_taken(browser: Client, ada: User) -> None:
    text = "DTSTART:20260105T090000\r\nRRULE:FREQ=WEEKLY;INTERVAL=2"
    browser.post("/reminders/new/", typed(make_channel(ada), kind="rrule", rule=text))
    assert Schedule.objects.get(user=ada).kind == "rrule"


def test_an_interval_without_a_start_counts_from_now(browser: Client, ada: User) -> None:
    browser.post("/reminders/new/", typed(make_channel(ada), kind="interval", every="2", unit="hours"))
    schedule = Schedule.objects.get(user=ada)
    assert schedule.next_fire_at is not None
    assert 7_100 < (schedule.next_fire_at - schedule.created_at).total_seconds() <= 7_200


def test_a_window_and_a_maximum_are_kept(browser: Client, ada: User) -> None:
    window = {"starts_at": "2998-01-01T00:00", "ends_at": "2999-01-01T00:00", "max_count": "10"}
    browser.post("/reminders/new/", typed(make_channel(ada), **window))
    schedule = Schedule.objects.get(user=ada)
    assert schedule.starts_at and schedule.starts_at.isoformat() == "2997-12-31T23:00:00+00:00"
    assert schedule.ends_at and schedule.ends_at.isoformat() == "2998-12-31T23:00:00+00:00"
    assert schedule.max_count == 10


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("time_zone", {"time_zone": "Europe/Berln"}, "Did you mean Europe/Berlin?"),
    ("time_zone", {"time_zone": ""}, "Choose a time zone"),
    ("at", {"kind": "once", "at": "2999-02-30T09:00"}, "not a date and time of the calendar"),
    ("at", {"kind": "once", "at": "2020-01-01T09:00"}, "has passed. Choose a later time"),
    ("at", {"kind": "once", "at": ""}, "Choose a date and a time."),
    ("every", {"kind": "interval", "every": "0", "unit": "minutes"}, "whole number of minutes"),
    ("every", {"kind": "interval", "every": "often", "unit": "hours"}, "whole number of hours"),
    ("unit", {"kind": "interval", "every": "1", "unit": "weeks"}, "minutes, hours or days"),
    ("anchor", {"kind": "interval", "every": "1", "unit": "hours", "anchor": "soon"}, "not a date and time"),
    ("time", {"time": "25:00"}, "00:00 to 23:59"),
    ("days", {"kind": "weekly", "days": []}, "at least one day"),
    ("days", {"kind": "weekly", "days": ["7"]}, "day of the week, from 0 for Monday"),
    ("day", {"kind": "monthly", "day": "32"}, "1 to 31"),
    ("short", {"kind": "monthly", "day": "31", "short": "perhaps"}, "a month without that day"),
    ("expression", {"kind": "cron", "expression": "61 * * * *"}, "minutes go from 0 to 59"),
    ("expression", {"kind": "cron", "expression": "0 0 31 2 *"}, "the months given must have such a day"),
    ("expression", {"kind": "cron", "expression": ""}, "Write five fields"),
    ("rule", {"kind": "rrule", "rule": "every other day"}, ""),
    ("kind", {"kind": None}, "Choose one timing"),
    ("kind", {"kind": ["daily", "cron"], "expression": "0 9 * * *"}, "exactly one timing"),
    ("kind", {"kind": "hourly"}, "Choose one timing"),
    ("ends_at", {"starts_at": "2999-01-02T00:00", "ends_at": "2999-01-01T00:00"}, "before the start"),
    ("ends_at", {"ends_at": "2020-01-01T00:00"}, "Nothing is sent in this window"),
    ("starts_at", {"starts_at": "tomorrow"}, "not a date and time"),
    ("max_count", {"max_count": "0"}, "Enter a whole number from 1 to 1,000,000"),
    ("title", {"title": ""}, "Enter a title"),
    ("title", {"title": "x" * 201}, "at most 200"),
    ("body", {"body": "x" * 10_001}, "at most 10000"),
    ("body", {"body": "x" * 5_000_000}, "at most 10000"),
    ("body", {"body": "Hello {nmae}"}, "Did you mean {name}?"),
    ("title", {"title": "Water {plant}"}, "{plant} is not a placeholder"),
    ("channels", {"channels": []}, "at least one channel"),
    ("channels", {"channels": ["nonsense"]}, "not one of your channels"),
]


@pytest.mark.parametrize(("name", "fields", "said"), WRONG)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_written(
    browser: Client, ada: User, name: str, fields: dict[str, Any], said: str
) -> None:
    answer = browser.post("/reminders/new/", typed(make_channel(ada), **({"title": "Keep me"} | fields)))
    errors = answer.context["form"].errors
    assert list(errors) == [name]
    assert said in " ".join(errors[name])
    assert f'id="id_{name}_error"' in answer.content.decode()
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("title", "Keep me"), ("body", "Me & <you>"), ("expression", "61 * * * *"), ("time_zone", "Europe/Berln")],
)
def test_what_was_typed_is_kept(browser: Client, ada: User, name: str, value: str) -> None:
    fields = {"kind": "cron", "expression": "61 * * * *", name: value}
    form = browser.post("/reminders/new/", typed(make_channel(ada), **fields)).context["form"]
    assert form[name].value() == value


def test_everything_that_is_wrong_is_said_at_once(browser: Client, ada: User) -> None:
    fields = {"title": "", "kind": "cron", "expression": "61 * * * *", "time_zone": "Mars"}
    answer = browser.post("/reminders/new/", typed(**fields))
    assert set(answer.context["form"].errors) == {"title", "expression", "time_zone", "channels"}


def test_a_channel_of_somebody_else_is_refused(browser: Client) -> None:
    answer = browser.post("/reminders/new/", typed(make_channel(make_user())))
    assert "not one of your channels" in answer.context["form"].errors["channels"][0]
    assert not Schedule.objects.exists()


@pytest.mark.parametrize("field", ["disabled_at", "removed_at"])
def test_a_channel_that_is_out_of_use_is_neither_offered_nor_taken(browser: Client, ada: User, field: str) -> None:
    gone = make_channel(ada)
    Channel.objects.filter(id=gone.id).update(**{field: "2026-01-01T00:00Z"})
    assert str(gone.id) not in browser.get("/reminders/new/").content.decode()
    assert "channels" in browser.post("/reminders/new/", typed(gone)).context["form"].errors


def test_a_text_of_the_longest_length_with_line_breaks_is_taken(browser: Client, ada: User) -> None:
    body = "line\r\n" * 2_000  # 10,000 characters as a person counts them
    browser.post("/reminders/new/", typed(make_channel(ada), body="x" + body.rstrip()))
    assert Schedule.objects.get(user=ada).body.count("\n") == 1_999


def test_the_first_reminder_tells_the_zone_of_a_person_without_one(browser: Client, ada: User) -> None:
    User.objects.filter(id=ada.id).update(time_zone="")
    browser.post("/reminders/new/", typed(make_channel(ada), time_zone="Asia/Kolkata"))
    ada.refresh_from_db()
    assert ada.time_zone == "Asia/Kolkata"


def test_the_second_of_two_editors_sees_both_versions_and_loses_nothing(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada)
    channels = list(schedule.channels.all())
    first, second = (typed(*channels, title=title, version="1") for title in ("Theirs", "Mine"))
    browser.post(f"/reminders/{schedule.id}/edit/", first)
    answer = browser.post(f"/reminders/{schedule.id}/edit/", second)
    assert answer.status_code == 409
    assert ("Title", "Theirs", "Mine") in answer.context["differences"]
    assert answer.context["form"]["title"].value() == "Mine"
    schedule.refresh_from_db()
    assert schedule.title == "Theirs"
    browser.post(f"/reminders/{schedule.id}/edit/", second | {"version": answer.context["form"]["version"].value()})
    schedule.refresh_from_db()
    assert schedule.title == "Mine"


def test_a_maximum_below_what_has_fired_is_refused(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, fired_count=3)
    fields = typed(*schedule.channels.all(), version="1", max_count="3")
    answer = browser.post(f"/reminders/{schedule.id}/edit/", fields)
    assert "already sent 3 times" in answer.context["form"].errors["max_count"][0]


def test_a_broken_reminder_can_be_opened_and_mended(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, kind="interval", rule={"every": 1, "unit": "hours", "anchor": "2026-01-01T00:00:00Z"})
    Schedule.objects.filter(id=schedule.id).update(rule={}, state="broken", next_fire_at=None, error="no anchor")
    assert browser.get(f"/reminders/{schedule.id}/").status_code == 200
    assert browser.get(f"/reminders/{schedule.id}/edit/").status_code == 200
    browser.post(f"/reminders/{schedule.id}/edit/", typed(*schedule.channels.all(), version="1"))
    schedule.refresh_from_db()
    assert (schedule.state, schedule.error) == ("active", "")


def test_the_same_form_sent_twice_makes_one_reminder(browser: Client, ada: User) -> None:
    shown = browser.get("/reminders/new/").context["form"]["made_as"].value()
    form = typed(make_channel(ada), kind="once", at="2999-01-01T09:00") | {"made_as": str(shown)}
    answers = [browser.post("/reminders/new/", form) for _ in range(2)]
    assert [answer.url for answer in answers] == [f"/reminders/{shown}/"] * 2  # type: ignore[attr-defined]
    assert Schedule.objects.count() == 1


def test_a_form_that_has_made_a_reminder_leads_to_it_however_late_it_is_sent_again(browser: Client, ada: User) -> None:
    channel, key = make_channel(ada), UUID("0190a000-0000-7000-8000-000000000000")
    made = Schedule(id=key, user=ada, title="Tea", kind="daily", rule={"time": "09:00"}, time_zone="UTC")
    editing.create(made, [channel], NOON)
    answer = browser.post("/reminders/new/", typed(channel) | {"made_as": str(key)})
    assert answer.url == f"/reminders/{key}/"  # type: ignore[attr-defined]


def test_an_id_that_is_somebody_elses_reminder_shows_nothing_of_it(browser: Client, ada: User) -> None:
    theirs = make_schedule(make_user())
    answer = browser.post("/reminders/new/", typed(make_channel(ada)) | {"made_as": str(theirs.id)}, follow=True)
    assert answer.status_code == 404
    assert Schedule.objects.count() == 1


@pytest.mark.parametrize(
    "made_as",
    [
        "5f0c7e5e-8a5b-4b5e-9c5e-1f6f8f3e2d1c",
        "0190a000-0000-7000-8000-000000000000",
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
        "x",
    ],
)
def test_an_id_that_no_form_was_given_lately_makes_nothing_and_the_next_press_does(
    browser: Client, ada: User, made_as: str
) -> None:
    fields = typed(make_channel(ada))
    form = browser.post("/reminders/new/", fields | {"made_as": made_as}).context["form"]
    assert form.non_field_errors()
    assert not Schedule.objects.exists()
    assert f'value="{form.data["made_as"]}"' in str(form["made_as"])
    browser.post("/reminders/new/", fields | {"made_as": form.data["made_as"]})
    assert [str(schedule.id) for schedule in Schedule.objects.all()] == [form.data["made_as"]]


@pytest.mark.parametrize("field", ["title", "body"])
def test_a_text_that_is_far_too_long_is_refused_by_its_length_alone(browser: Client, ada: User, field: str) -> None:
    text = "".join(f"{{p{number}}}" for number in range(550_000))
    began = time.process_time()
    answer = browser.post("/reminders/new/", typed(make_channel(ada), **{field: text}))
    assert time.process_time() - began < 4
    assert [len(problems) for problems in answer.context["form"].errors.values()] == [1]
    assert list(answer.context["form"].errors) == [field]
