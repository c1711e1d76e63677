"""`manage.py explain` tells an operator the same as the page tells the owner."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import make_schedule, make_user


def explained(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("explain", *arguments, stdout=out)
    return out.getvalue().splitlines()


def test_it_tells_the_past_in_order_and_what_is_to_come() -> None:
    now = fire.read_clock().now.replace(minute=30, second=0, microsecond=0)
    user = make_user(name="Grace")
    rule = {"expression": "0 * * * *"}
    schedule = make_schedule(
        user, now=now - timedelta(hours=3), kind="cron", rule=rule, time_zone="Asia/Tokyo", title="Stretch"
    )
    editing.pause(schedule.id, now - timedelta(hours=3), user)
    editing.resume(schedule.id, now - timedelta(hours=1), user)
    fire.fire_due(now)
    lines = explained(str(schedule.id))
    assert lines[0].startswith("Stretch: ")
    assert lines[1] == "It is active. Times are those of Asia/Tokyo."
    past = lines[3 : lines.index("To come:") - 1]
    assert [line[19:].split(maxsplit=1)[0].strip(",") for line in past] == ["skipped", "skipped", "sent"]
    assert past[0].endswith(" by Grace.")
    assert " Paused from " in past[0]
    assert len(lines) - lines.index("To come:") == 11


def test_it_goes_back_as_far_as_it_is_asked_to() -> None:
    now = fire.read_clock().now
    schedule = make_schedule(make_user(), now=now - timedelta(days=300), kind="daily", rule={"time": "09:00"})
    editing.pause(schedule.id, now - timedelta(days=300))
    week = [line for line in explained(str(schedule.id)) if "skipped" in line]
    assert len(week) == 7
    since = f"{now - timedelta(days=200):%Y-%m-%d}"
    assert len([line for line in explained(str(schedule.id), "--since", since) if "skipped" in line]) in {200, 201}
    assert explained(str(schedule.id))[-1] == "Nothing is to come."


@pytest.mark.parametrize("given", ["nonsense", "01a1f964-bb45-7cce-a4e6-aca34f65fb12"])
def test_a_schedule_that_does_not_exist_is_named(given: str) -> None:
    with pytest.raises(CommandError, match=f"There is no schedule “{given}”"):
        explained(given)


def test_a_date_that_is_none_is_refused_with_an_example(schedule: Schedule) -> None:
    with pytest.raises(CommandError, match=r"“yesterday” is not a date\. Write one such as 2026-03-29"):
        explained(str(schedule.id), "--since", "yesterday")


def test_a_zone_that_is_gone_does_not_hide_the_history(schedule: Schedule) -> None:
    Schedule.objects.update(time_zone="Mars/Base")
    assert explained(str(schedule.id))[1] == "It is active. Times are those of UTC."
