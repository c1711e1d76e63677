"""Timings that cannot be, typed into the real form: a message at the field, soon, whatever was typed."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils.http import urlencode
from hypothesis import HealthCheck, example, given, settings, strategies as st

from people.models import User
from schedules.firing import fire
from schedules.inputs.timing_form import TimingForm
from schedules.models import Schedule
from tests.db.schedules.web.typed import typed
from tests.make import NOON, make_channel, make_schedule, make_user

START = "DTSTART:20260105T090000\n"
# It took 40 s of CPU to read.
COSTLY = (
    "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=1;COUNT=10000"
    f";BYHOUR={','.join(map(str, range(24)))};BYMINUTE={','.join(map(str, range(60)))}"
)
SECOND_IS_FAR = "FREQ=DAILY;INTERVAL=997;BYMONTH=11;BYMONTHDAY=22;BYDAY=TH"
# Seconds that checking a form may take on a slow, shared machine; a search without a bound takes minutes.
SOON = 6.0

IMPOSSIBLE: list[tuple[str, dict[str, Any]]] = [
    ("expression", {"kind": "cron", "expression": "0 0 30 2,feb *"}),
    ("expression", {"kind": "cron", "expression": "* * * * * *"}),
    ("every", {"kind": "interval", "every": "0.5", "unit": "minutes"}),
    ("every", {"kind": "interval", "every": "9" * 400, "unit": "days"}),
    ("max_count", {"max_count": "9" * 400}),
    ("rule", {"kind": "rrule", "rule": START + "RRULE:FREQ=SECONDLY;UNTIL=30260105T090000"}),
    ("rule", {"kind": "rrule", "rule": START + "RRULE:FREQ=MINUTELY;BYSECOND=" + ",".join(map(str, range(60)))}),
    ("rule", {"kind": "rrule", "rule": START + "RRULE:FREQ=DAILY;COUNT=999999999999"}),
    ("rule", {"kind": "rrule", "rule": START + "RRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30"}),
    ("rule", {"kind": "rrule", "rule": START + "RRULE:FREQ=YEARLY;INTERVAL=999999"}),
    ("rule", {"kind": "rrule", "rule": START + "RRULE:FREQ=DAILY;UNTIL=20200101T000000"}),
    ("rule", {"kind": "rrule", "rule": "DTSTART:99991231T235900\nRRULE:FREQ=DAILY"}),
    ("rule", {"kind": "rrule", "rule": START + "EXDATE:20260105T090000\n" * 400}),
    ("rule", {"kind": "rrule", "rule": START + COSTLY}),
    ("rule", {"kind": "rrule", "rule": "DTSTART:99980101T000000\nRRULE:FREQ=DAILY;INTERVAL=1000;COUNT=2"}),
    ("rule", {"kind": "rrule", "rule": "DTSTART:02260105T090000\nRRULE:FREQ=DAILY"}),
    ("rule", {"kind": "rrule", "rule": f"DTSTART:29981122T041000\nRRULE:{SECOND_IS_FAR}"}),
    ("excluded", {"excluded": "0226-12-25"}),
    ("excluded", {"excluded": "9999-12-31"}),
    ("time_zone", {"time_zone": "localtime"}),
    ("time_zone", {"time_zone": "../../etc/passwd"}),
    ("at", {"kind": "once", "at": "9999-12-31T23:59"}),
    ("at", {"kind": "once", "at": "10000-01-01T00:00"}),
    ("at", {"kind": "once", "at": "0000-00-00T00:00"}),
    ("anchor", {"kind": "interval", "every": "1", "unit": "hours", "anchor": "9999-12-31T23:59"}),
    ("starts_at", {"starts_at": "9999-06-01T00:00"}),
    ("ends_at", {"ends_at": "12026-06-01T00:00"}),
]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "yearly", "step": "0", "time": "25:00", "month": "13", "day": "32", "short": "next"},
        {"kind": "monthly", "step": "0", "time": "", "nth": "5", "weekday": "9"},
        {"kind": "weekly", "step": "0", "time": "noon", "off_days": "never", "public_holidays": "Mars"},
    ],
)
def test_all_that_is_wrong_in_a_timing_is_told_at_once(wrong: dict[str, str]) -> None:
    form = TimingForm({"time_zone": "UTC", **wrong}, now=NOON)
    assert not form.is_valid()
    assert form.errors.keys() == (wrong.keys() | ({"days"} if wrong["kind"] == "weekly" else set())) - {"kind"}


@pytest.mark.parametrize(("name", "fields"), IMPOSSIBLE)
def test_what_cannot_be_is_refused_soon_at_its_field(
    browser: Client, ada: User, name: str, fields: dict[str, Any]
) -> None:
    began = process_time()
    answer = browser.post("/reminders/new/", typed(make_channel(ada), **fields))
    assert process_time() - began < SOON
    form = answer.context["form"]
    assert list(form.errors) == [name]
    assert all(len(error) > 10 for error in form.errors[name])
    assert not Schedule.objects.exists()
    began = process_time()
    assert browser.post("/reminders/preview/", typed(**fields)).status_code == 200
    assert process_time() - began < SOON


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "interval", "every": "3650", "unit": "days", "anchor": "9998-12-30T00:00"},
        {"kind": "cron", "expression": f"0 9 * * {','.join(['1'] * 90)}"},
        {"kind": "cron", "expression": f"0 {','.join(['9'] * 90)} * * *"},
        {"kind": "cron", "expression": f"{','.join(map(str, range(59)))} 9-17 * january-june *"},
        {"kind": "cron", "expression": "@weekly"},
        {"kind": "rrule", "rule": "DTSTART:20260307\nRRULE:FREQ=YEARLY;BYMONTHDAY=7;BYMINUTE=30"},
        {"time_zone": "Asia/Calcutta"},
    ],
)
def test_what_is_right_at_the_edge_is_taken_and_opens(browser: Client, ada: User, fields: dict[str, Any]) -> None:
    assert browser.post("/reminders/preview/", typed(**fields)).status_code == 200
    answer = browser.post("/reminders/new/", typed(make_channel(ada), **fields))
    assert answer.status_code == 302, answer.context["form"].errors
    made = Schedule.objects.get()
    assert made.time_zone == fields.get("time_zone", "Europe/Berlin")
    for page in ("", "edit/", "explain/"):
        assert browser.get(f"/reminders/{made.id}/{page}").status_code == 200


def test_a_rule_that_costs_too_much_is_quarantined_and_holds_up_nobody(ada: User) -> None:
    costly, other = make_schedule(ada, now=NOON), make_schedule(make_user(), now=NOON)
    # As a version that bounded nothing has stored it.
    Schedule.objects.filter(id=costly.id).update(kind="rrule", rule={"rule": START + COSTLY})
    assert other.next_fire_at is not None
    began = process_time()
    fire.fire_due(other.next_fire_at)
    assert process_time() - began < 1
    costly.refresh_from_db()
    other.refresh_from_db()
    assert (costly.state, costly.next_fire_at, other.state, other.fired_count) == ("broken", None, "active", 1)
    assert costly.error


ANYTHING = st.one_of(
    st.text(max_size=60),
    st.from_regex(r"[0-9*/,L#-]{1,5}( [0-9*/,L#-]{1,5}){4}", fullmatch=True),
    st.from_regex(
        r"DTSTART:[0-9]{8}T[0-9]{6}\nRRULE:FREQ=(DAILY|HOURLY|MINUTELY);[A-Z]{5,10}=[0-9,-]{1,8}", fullmatch=True
    ),
    st.from_regex(r"[0-9]{1,5}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}", fullmatch=True),
    st.sampled_from(["", "0", "-1", "1e9", "٣", "1" * 5_000, "NaN", "\0", "9999-12-31T23:59:59.999999"]),
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.sampled_from(["once", "interval", "daily", "weekly", "monthly", "cron", "rrule"]),
    st.dictionaries(st.sampled_from(sorted(TimingForm.base_fields.keys() - {"kind"})), ANYTHING, max_size=5),
)
@example("interval", {"every": "1", "unit": "minutes", "anchor": "0002-01-01T00:00", "time_zone": "Africa/Monrovia"})
def test_whatever_is_typed_is_taken_or_refused_soon(
    browser: Client, ada: User, kind: str, fields: dict[str, str]
) -> None:
    began = process_time()
    # Without a channel, so that nothing is ever saved.
    answer = browser.post("/reminders/new/", typed(**{"kind": kind, "channels": None} | fields))
    assert answer.status_code == 200
    assert answer.context["form"].errors
    assert browser.post("/reminders/preview/", typed(**{"kind": kind} | fields)).status_code == 200
    assert process_time() - began < 2 * SOON


@pytest.fixture
def lost(ada: User) -> Schedule:
    """A reminder whose zone was removed from the database of zones after it was made."""
    schedule = make_schedule(ada, now=fire.read_clock().now)
    Schedule.objects.update(time_zone="Mars/Base")
    return schedule


@pytest.mark.parametrize("page", ["", "edit/", "explain/"])
def test_pages_of_a_reminder_whose_zone_was_removed_still_open(browser: Client, lost: Schedule, page: str) -> None:
    answer = browser.get(f"/reminders/{lost.id}/{page}")
    assert answer.status_code == 200
    assert "Mars/Base" in answer.content.decode()


@pytest.mark.parametrize("verb", ["pause", "resume", "skip", "snooze", "run", "duplicate", "delete"])
def test_no_verb_fails_on_a_reminder_whose_zone_was_removed(browser: Client, lost: Schedule, verb: str) -> None:
    assert lost.next_fire_at is not None
    fields = {"slot": lost.next_fire_at.isoformat(), "until": "2999-01-01T09:00"}
    assert browser.post(f"/reminders/{lost.id}/{verb}/", fields, follow=True).status_code == 200


@pytest.mark.parametrize("kind", ["once", "interval", "daily", "weekly", "monthly", "yearly", "cron", "rrule"])
def test_a_nul_in_any_field_of_a_timing_is_refused_there(kind: str, browser: Client) -> None:
    sound = {
        "kind": kind,
        "at": "2031-01-05T09:00",
        "step": "2",
        "every": "2",
        "unit": "days",
        "days": ["0"],
        "day": "1",
        "month": "1",
        "expression": "0 9 * * *",
        "rule": START + "RRULE:FREQ=DAILY",
    }
    read = TimingForm.base_fields.keys() - {"after_done"} - ({"days"} if kind != "weekly" else set())
    for name in read:
        form = TimingForm(QueryDict(urlencode(typed(**sound | {name: "1\0"}), doseq=True)), now=NOON)
        assert name in form.errors, name
    everywhere = typed(**sound | {name: "1\0" for name in TimingForm.base_fields if name != "kind"})
    assert browser.post("/reminders/preview/", everywhere).status_code == 200
