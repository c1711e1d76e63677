"""Which reminders reach nobody: one answer for a row and for the count of all."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from people.models import User
from schedules.explain.quiet_hours import QuietHours
from schedules.explain.reach import Reach, needs_attention
from schedules.models import Schedule
from tests.make import NOON, make_channel, make_schedule, make_user

FAULTS: dict[str, dict[str, Any]] = {
    "works": {},
    "disabled": {"disabled_at": NOON},
    "unverified": {"verified_at": None},
    "removed": {"removed_at": NOON},
    "failing": {"failing_since": NOON},
}


def counted(user: User) -> set[str]:
    return set(Schedule.objects.for_user(user).filter(needs_attention(user.pk)).values_list("title", flat=True))


def level(schedule: Schedule) -> str:
    return Reach.of(Schedule.objects.prefetch_related("channels").get(id=schedule.id)).level


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([], "nobody"),
        (["works"], ""),
        (["disabled"], "nobody"),
        (["unverified"], "nobody"),
        (["removed"], "nobody"),
        (["removed", "disabled"], "nobody"),
        (["failing"], "partly"),
        (["works", "disabled"], "partly"),
        (["works", "unverified"], "partly"),
        (["works", "failing"], "partly"),
        (["works", "removed"], ""),
        (["failing", "removed"], "partly"),
    ],
)
def test_the_row_and_the_count_agree_on_what_reaches_nobody(ada: User, faults: list[str], expected: str) -> None:
    channels = [make_channel(ada, "webhook", **FAULTS[fault]) for fault in faults]
    schedule = make_schedule(ada, channels)
    make_schedule(make_user(), [])
    assert level(schedule) == expected
    assert counted(ada) == ({schedule.title} if expected else set())


def test_emails_that_are_saved_to_files_reach_nobody(browser: Client, ada: User, settings: Settings) -> None:
    mail = make_schedule(ada, [make_channel(ada, "email")], title="Mail")
    both = make_schedule(ada, [make_channel(ada, "email"), make_channel(ada)], title="Both")
    assert (level(mail), level(both), counted(ada)) == ("", "", set())
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = "var/mail"
    assert (level(mail), level(both), counted(ada)) == ("nobody", "partly", {"Mail", "Both"})
    said = "No mail server is configured: emails are saved in var/mail, not sent."
    assert said in browser.get(f"/reminders/{mail.id}/").content.decode()


@pytest.mark.parametrize("state", ["paused", "finished"])
def test_what_sends_nothing_anyway_needs_no_attention(ada: User, state: str) -> None:
    schedule = make_schedule(ada, [], state=state, next_fire_at=None)
    assert (level(schedule), counted(ada)) == ("", set())


def test_one_for_an_audience_is_not_judged_by_its_owners_channels(ada: User) -> None:
    schedule = make_schedule(ada, [], audience="everybody")
    assert (level(schedule), counted(ada)) == ("", set())


def test_a_broken_one_needs_attention(ada: User) -> None:
    make_schedule(ada, title="Broken", state="broken", next_fire_at=None)
    assert counted(ada) == {"Broken"}


def test_the_list_says_it_filters_it_and_the_navigation_counts_it(browser: Client, ada: User) -> None:
    pager = make_channel(ada, "webhook", label="Pager", disabled_code="note", disabled_params={"said": "Answered 410."})
    lost = make_schedule(ada, [pager], title="Lost")
    inbox = make_channel(ada)
    make_schedule(ada, [inbox], title="Fine")
    assert "need attention" not in browser.get("/inbox/").content.decode()
    pager.disabled_at = timezone.now()
    pager.save()
    page = browser.get("/reminders/?state=attention")
    assert [schedule.title for schedule in page.context["page"]] == ["Lost"]
    assert 'class="dot nobody"' in page.content.decode() and 'class="message fault error"' in page.content.decode()
    assert "“Pager” is disabled. Answered 410." in page.content.decode()
    assert f'action="/channels/{pager.id}/enable/"' in page.content.decode()
    assert '<p class="reach nobody">' in browser.get(f"/reminders/{lost.id}/").content.decode()
    assert "Reminders that need attention: 1" in browser.get("/inbox/").content.decode()
    lost.channels.add(inbox)
    make_schedule(ada, [pager, inbox], title="Also")
    page = browser.get("/reminders/")
    assert 'class="dot partly"' in page.content.decode() and "dot nobody" not in page.content.decode()
    [fault] = page.context["faults"]  # one for the channel, however many reminders it has
    assert (fault["channel"], len(fault["rows"]), fault["lost"]) == (pager, 2, 0)


def test_the_row_says_that_it_is_snoozed_or_in_quiet_hours(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(quiet_from=time(0), quiet_until=time(23, 59), time_zone="UTC")
    mail, inbox = make_channel(ada, "email"), make_channel(ada)
    make_schedule(ada, [mail], snoozed_until=timezone.now() + timedelta(days=1))
    page = browser.get("/reminders/").content.decode()
    assert "snoozed until <time" in page and "held until 23:59" in page
    Schedule.objects.update(urgent=True, snoozed_until=None)
    page = browser.get("/reminders/").content.decode()
    assert "snoozed until" not in page and "held until" not in page
    Schedule.objects.update(urgent=False)
    Schedule.objects.get().channels.set([inbox])
    assert "held until" not in browser.get("/reminders/").content.decode()


def test_only_the_first_channel_in_order_decides_whether_quiet_hours_hold(ada: User) -> None:
    ada.quiet_from, ada.quiet_until, ada.time_zone = time(0), time(23, 59), "UTC"
    ada.save()
    inbox, mail = make_channel(ada), make_channel(ada, "email")
    schedule = make_schedule(ada, [inbox, mail], in_order=True)
    assert QuietHours.of(schedule).wait(NOON) is None
    Schedule.objects.update(channel_order=[])
    [note] = QuietHours.of(Schedule.objects.get()).notes([NOON]).values()
    assert note == "Held until 23:59 on Email by your quiet hours; make it urgent to ring at 12:00"


ROWS = """
INSERT INTO schedules_schedule (id, user_id, title, body, kind, rule, time_zone, spread, misfire, grace, state, error,
                                version, next_fire_at, fired_count)
SELECT gen_random_uuid(), %(user)s, 'Water', '', 'daily', '{"time": "09:00"}', 'UTC', 0, 'latest', 60,
       'active', '', 1, now() + n * interval '1 minute', 0
  FROM generate_series(1, 10000) n;
INSERT INTO schedules_schedule_channels (schedule_id, channel_id)
SELECT id, unnest(%(channels)s::uuid[]) FROM schedules_schedule WHERE user_id = %(user)s;
ANALYZE schedules_schedule, schedules_schedule_channels, notifications_channel;
"""


def test_ten_thousand_reminders_are_counted_by_one_statement_on_indexes(ada: User) -> None:
    channels = [make_channel(ada), make_channel(ada, "webhook"), make_channel(ada, "webhook", disabled_at=NOON)]
    others = make_user()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for user, own in ((others, [make_channel(others)]), (ada, channels)):
            cursor.execute(ROWS, {"user": user.pk, "channels": [channel.id for channel in own]})
    found = Schedule.objects.for_user(ada).filter(needs_attention(ada.pk))
    with CaptureQueriesContext(connection) as asked:
        assert found.count() == 10_000
    assert len(asked) == 1
    plan = found.order_by().explain(analyze=True)
    assert "hashed SubPlan" in plan
    assert "loops=10000" not in plan
