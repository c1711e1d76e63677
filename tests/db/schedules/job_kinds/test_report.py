"""Reports: a person's own and the one over everybody, within a number of statements that does not grow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jobs.kinds.base import Ask, Found, Nothing, Say
from jobs.reading.fetch import Fetch, Refused
from people.models import User
from schedules.job_kinds.report import Report
from schedules.models import Schedule
from tests.make import make_channel, make_delivery, make_schedule, make_user

pytestmark = pytest.mark.django_db
KIND = Report()


def ask_of(user: User, **payload: Any) -> Ask:
    now = datetime.now(UTC) + timedelta(seconds=1)
    zone = ZoneInfo("Europe/Berlin")
    return Ask(user_id=user.pk, origin_id=None, zone=zone, slot=now, now=now, payload={"period": "week"} | payload)


def decided(ask: Ask) -> Say | Nothing:
    found = KIND.check(ask, Fetch(1))
    assert isinstance(found, Found)
    return KIND.decide(ask, found.value)


def test_a_person_reads_what_was_sent_what_failed_and_why_and_what_comes() -> None:
    user, other = make_user(), make_user()
    for person in (user, other):
        channel = make_channel(person, "email", label="Mail")
        make_delivery(channel, subject="Arrived", state="delivered")
        make_delivery(channel, subject="Lost", state="dead", reason="No such mailbox.")
    schedule = make_schedule(user, title="Water {name}")
    Schedule.objects.filter(id=schedule.id).update(next_fire_at=datetime.now(UTC) + timedelta(days=1))
    said = decided(ask_of(user))
    assert isinstance(said, Say)
    assert (said.words["sent"], said.words["failed"], said.words["coming"]) == ("1", "1", "1")
    report = said.words["report"]
    assert "Arrived" in report and "Lost (Mail): No such mailbox." in report and "Water {name}" in report
    assert said.reason.code == "report-checked"


def test_parts_are_left_out_where_wanted() -> None:
    user = make_user()
    make_delivery(make_channel(user, "email"), subject="Arrived", state="delivered")
    said = decided(ask_of(user, without=["sent", "coming"]))
    assert isinstance(said, Say) and "Arrived" not in said.words["report"]


def test_it_stays_silent_where_only_failures_are_wanted_and_none_happened() -> None:
    user = make_user()
    channel = make_channel(user, "email")
    assert isinstance(decided(ask_of(user, only_failed=True)), Nothing)
    make_delivery(channel, state="dead", reason="Gone.")
    assert isinstance(decided(ask_of(user, only_failed=True)), Say)


def test_what_is_older_than_the_period_is_not_counted() -> None:
    user = make_user()
    make_delivery(make_channel(user, "email"), state="delivered")
    ask = ask_of(user, period="day")
    later = Ask(user_id=user.pk, origin_id=None, zone=ask.zone, slot=ask.slot + timedelta(days=2), now=ask.now,
                payload=ask.payload)  # fmt: skip
    said = decided(later)
    assert isinstance(said, Say) and said.words["sent"] == "0"


def test_a_report_takes_three_statements_however_long_the_history(django_assert_num_queries: Any) -> None:
    user = make_user()
    for number in range(3):
        make_delivery(make_channel(user, "email", label=f"Mail {number}"), state="dead", reason="Gone.")
        make_schedule(user, [])
    with django_assert_num_queries(3):
        KIND.check(ask_of(user), Fetch(1))


def test_counts_stop_where_they_would_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    from schedules.job_kinds import report_queries

    monkeypatch.setattr(report_queries, "MOST_COUNTED", 1)
    user = make_user()
    channel = make_channel(user, "email")
    for _ in range(3):
        make_delivery(channel, state="delivered")
    said = decided(ask_of(user))
    assert isinstance(said, Say) and said.words["sent"] == "1+"


def test_staff_read_about_everybody_without_names(django_assert_num_queries: Any) -> None:
    staff, user = make_user(is_staff=True, is_superuser=True), make_user()
    make_delivery(make_channel(user, "email"), subject="Private", state="dead", reason="Gone.")
    make_delivery(make_channel(user, "email"), subject="Private", state="delivered")
    ask = ask_of(staff, of="everybody")
    with django_assert_num_queries(4):
        found = KIND.check(ask, Fetch(1))
    assert isinstance(found, Found)
    said = KIND.decide(ask, found.value)
    assert isinstance(said, Say)
    assert "Email: 1 sent, 1 failed" in said.words["report"] and "Dead letters waiting: 1" in said.words["report"]
    assert "Private" not in said.words["report"] and user.email not in said.words["report"]


def test_nobody_else_reads_about_everybody() -> None:
    for user in (make_user(), make_user(is_staff=True), make_user(is_superuser=True)):
        found = KIND.check(ask_of(user, of="everybody"), Fetch(1))
        assert isinstance(found, Refused) and found.reason.code == "report-for-staff"


def test_a_damaged_period_is_refused() -> None:
    assert isinstance(KIND.check(ask_of(make_user(), period=["week"]), Fetch(1)), Refused)


def test_each_part_is_read_by_an_index() -> None:
    from django.db import connection

    from schedules.job_kinds import report_queries as queries

    now = datetime.now(UTC)
    values = {"user": 1, "first": queries.first_of(now), "last": queries.first_of(now), "now": now, "until": now,
              "most": 1, "lines": 1, "most_read": 1}  # fmt: skip
    with connection.cursor() as cursor:
        # Else what other tests left in the tables and indexes would decide: of a few rows, any index will do.
        cursor.execute("TRUNCATE notifications_notification, notifications_channel, schedules_schedule CASCADE")
        cursor.execute("UPDATE pg_class SET reltuples = -1 WHERE relname ~ '^(schedules|notifications)_'")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE reltuples = -1)")
        cursor.execute("DROP INDEX schedule_due")  # until this test ends
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = on")
        for statement, index in (
            (queries._SENT, "notification_history"),
            (queries._FAILED, "delivery_dead_of_channel"),
            (queries._COMING, "schedule_of_person_next"),
            (queries._DELIVERIES, "notifications_delivery_pkey"),
            (queries._LATENESS, "schedules_occurrence_pkey"),
        ):
            cursor.execute(f"EXPLAIN {statement}", values)
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert index in plan, plan
