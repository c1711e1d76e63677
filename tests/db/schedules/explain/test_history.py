"""Each slot, past and to come, has a story that says why it went the way it did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from schedules.changes import bulk, editing
from schedules.explain import history
from schedules.explain.causes import Cause
from schedules.explain.history import ExplainedSlot
from schedules.firing import fire
from schedules.models import Heartbeat, Occurrence, Schedule
from tests.make import NINE, NOON, edit_schedule, make_schedule, make_user

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def past(schedule: Schedule, now: datetime, **options: Any) -> list[ExplainedSlot]:
    options = {"since": NOON - 300 * DAY, "until": now + DAY} | options
    return history.past(schedule, now=now, **options)


def said(stories: Sequence[ExplainedSlot]) -> list[tuple[datetime, str, list[str]]]:
    return [(story.slot, story.outcome, [cause.code for cause in story.causes]) for story in stories]


def fired(schedule: Schedule, slot: datetime, after: timedelta = timedelta(0), **fields: Any) -> Occurrence:
    values = {"outcome": "fired", "version": 1} | fields
    return Occurrence.objects.create(schedule=schedule, scheduled_for=slot, fired_at=slot + after, **values)


def test_what_fired_in_time_needs_no_reason(schedule: Schedule) -> None:
    row = fired(schedule, NINE, timedelta(milliseconds=20))
    [story] = past(schedule, NINE + HOUR)
    assert (story.outcome, story.causes, story.batch_id) == ("fired", [], row.id)
    assert story.late == timedelta(milliseconds=20)


def test_paused_slots_say_from_when_until_when_and_by_whom() -> None:
    user = make_user(name="Grace")
    schedule = make_schedule(user)
    editing.pause(schedule.id, NOON, user)
    editing.resume(schedule.id, NOON + 3 * DAY, user)
    schedule.refresh_from_db()
    stories = past(schedule, NOON + 4 * DAY)
    paused = [Cause("paused", NOON, NOON + 3 * DAY, "Grace")]
    assert [(story.slot, list(story.causes)) for story in stories] == [(NINE + n * DAY, paused) for n in (2, 1, 0)]
    assert {story.outcome for story in stories} == {"skipped"}


def test_a_pause_that_lasts_has_no_end_yet(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    schedule.refresh_from_db()
    [story] = past(schedule, NOON + DAY)
    assert list(story.causes) == [Cause("paused", NOON, None, "")]


def test_slots_in_a_pause_are_those_of_the_rule_in_force_then(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    edit_schedule(schedule, NOON + DAY, rule={"time": "18:00"}, version=2)
    editing.resume(schedule.id, NOON + 2 * DAY)
    schedule.refresh_from_db()
    assert [story.slot for story in past(schedule, NOON + 2 * DAY)] == [NINE.replace(hour=18), NINE]


def test_a_snooze_that_goes_on_after_an_undone_pause_says_so(schedule: Schedule) -> None:
    editing.snooze(schedule.id, NINE + DAY, NOON)
    own = Schedule.objects.filter(id=schedule.id)
    bulk.apply(own, bulk.Action.PAUSE, NOON + HOUR, schedule.user)
    assert bulk.undo(schedule.user, bulk.Action.PAUSE, NOON + HOUR, NOON + 2 * HOUR) == 1
    schedule.refresh_from_db()
    [story] = past(schedule, NINE + HOUR)
    assert (story.slot, [cause.code for cause in story.causes]) == (NINE, ["snoozed"])


def test_snoozed_and_deleted_slots_say_so(schedule: Schedule) -> None:
    editing.snooze(schedule.id, NINE + DAY, NOON)
    fire.fire_due(NINE + DAY)
    editing.delete(schedule.id, NINE + DAY + HOUR)
    editing.restore(schedule.id, NINE + 2 * DAY + HOUR)
    schedule.refresh_from_db()
    deleted, went_out, snoozed = past(schedule, NINE + 2 * DAY + 2 * HOUR)
    assert said([deleted, snoozed]) == [(NINE + 2 * DAY, "skipped", ["deleted"]), (NINE, "skipped", ["snoozed"])]
    assert (went_out.slot, went_out.outcome) == (NINE + DAY, "fired")


def test_a_snooze_that_was_ended_early_ends_there(schedule: Schedule) -> None:
    editing.snooze(schedule.id, NINE + 9 * DAY, NOON)
    editing.resume(schedule.id, NINE + HOUR)
    fire.fire_due(NINE + DAY)
    schedule.refresh_from_db()
    assert [story.outcome for story in past(schedule, NINE + DAY)] == ["fired", "skipped"]


def test_a_skipped_slot_and_one_fired_by_hand_name_the_person() -> None:
    user = make_user(name="Grace")
    schedule = make_schedule(user)
    editing.skip_next(schedule.id, NINE, NOON, user)
    editing.run_now(schedule.id, NOON, user)
    schedule.refresh_from_db()
    assert [
        (story.slot, story.outcome, [(cause.code, cause.by) for cause in story.causes])
        for story in past(schedule, NINE + HOUR)
    ][::-1][1:] == [(NINE, "skipped", [("asked", "Grace")])]
    by_hand = past(schedule, NINE + HOUR)[-1]
    assert (by_hand.slot, by_hand.causes[0]) == (NOON, Cause("manual", by="Grace"))


def test_what_no_beat_saw_names_the_outage(schedule: Schedule) -> None:
    began, ended = NINE - HOUR, NINE + 2 * HOUR
    beat(NOON, began)
    beat(ended, ended + 9 * DAY)
    fired(schedule, NINE, 2 * HOUR, reason="late")
    fired(schedule, NINE - timedelta(minutes=1), 2 * HOUR, outcome="skipped", reason="misfire")
    late, missed = past(schedule, NINE + 3 * HOUR)
    outage = Cause("no-beat", began, ended)
    assert (late.late, list(late.causes)) == (2 * HOUR, [outage])
    assert list(missed.causes) == [Cause("misfire"), outage]


def test_what_was_late_after_an_outage_was_caught_up_with(schedule: Schedule) -> None:
    beat(NOON, NINE - HOUR)
    beat(NINE - timedelta(seconds=1), NINE + DAY)
    fired(schedule, NINE, timedelta(seconds=30))
    [story] = past(schedule, NINE + HOUR)
    assert [cause.code for cause in story.causes] == ["catching-up"]


def test_lateness_without_a_known_cause_is_not_guessed_at(schedule: Schedule) -> None:
    beat(NOON, NINE + DAY)
    fired(schedule, NINE, timedelta(seconds=30))
    [story] = past(schedule, NINE + HOUR)
    assert story.causes[0].code == "unknown"
    assert story.causes[0].began is None


def test_pages_follow_one_another_without_gap_or_repeat() -> None:
    schedule = make_schedule(
        make_user(), kind="interval", rule={"every": 1, "unit": "hours", "anchor": NOON.isoformat()}
    )
    for hours in range(1, 6):
        fire.fire_due(NOON + hours * HOUR)
    editing.pause(schedule.id, NOON + 5 * HOUR)
    editing.resume(schedule.id, NOON + 12 * HOUR)
    for hours in range(13, 17):
        fire.fire_due(NOON + hours * HOUR)
    schedule.refresh_from_db()
    now, before, slots = NOON + 16 * HOUR, NOON + 17 * HOUR, []
    while page := past(schedule, now, until=before, limit=3):
        slots += [(story.slot, story.outcome) for story in page]
        before = page[-1].slot
    assert slots == [(NOON + h * HOUR, "skipped" if 5 < h <= 12 else "fired") for h in range(16, 0, -1)]


def test_a_dense_rule_paused_for_a_year_is_told_page_by_page() -> None:
    schedule = make_schedule(make_user(), kind="cron", rule={"expression": "* * * * *"})
    editing.pause(schedule.id, NOON)
    schedule.refresh_from_db()
    stories = past(schedule, NOON + 365 * DAY)
    assert len(stories) == history.PAGE
    assert stories[0].slot == NOON + 365 * DAY


def test_a_stored_rule_that_cannot_be_read_breaks_no_page(schedule: Schedule) -> None:
    fired(schedule, NINE)
    editing.pause(schedule.id, NINE)
    Schedule.objects.update(time_zone="Mars/Base")
    schedule.refresh_from_db()
    assert said(past(schedule, NINE + 3 * DAY)) == [(NINE, "fired", [])]
    assert history.coming(schedule, NINE) == []


def test_what_is_to_come_shows_skipped_and_snoozed_and_clock_changes() -> None:
    before = datetime.fromisoformat("2026-03-27T12:00:00+01:00")
    schedule = make_schedule(make_user(), now=before, rule={"time": "02:30"}, time_zone="Europe/Berlin")
    first = schedule.next_fire_at
    assert first is not None
    editing.skip_next(schedule.id, first, before)
    schedule.refresh_from_db()
    stories = history.coming(schedule, before, 3)
    assert [story.outcome for story in stories] == ["skipped", "coming", "coming"]
    assert stories[1].note == "02:30 does not exist on 29 March 2026 in Berlin: rings at 03:00"
    editing.snooze(schedule.id, before + 5 * DAY, before)
    schedule.refresh_from_db()
    assert history.coming(schedule, before, 3)[1].slot > before + 5 * DAY


def test_no_more_is_to_come_than_the_maximum_leaves() -> None:
    schedule = make_schedule(make_user(), max_count=2)
    assert len(history.coming(schedule, NOON)) == 2


def beat(began: datetime, ended: datetime) -> None:
    Heartbeat.objects.create(process="host:1", started_at=began, last_seen_at=ended)
