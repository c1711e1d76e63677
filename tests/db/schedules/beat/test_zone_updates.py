"""A new zone database moves the next slots that it must, says which, and loses none."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from config.celery import app as celery_app
from schedules.beat import zone_updates
from schedules.beat.scheduler import Scheduler
from schedules.beat.zone_updates import Moved
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule, ZoneDigest
from tests.make import make_schedule, make_user

HOUR = timedelta(hours=1)


def make_wrong(by: timedelta, now: datetime, **overrides: object) -> Schedule:
    """A schedule whose next slot was computed with other zone data: it lies `by` after where it belongs."""
    schedule = make_schedule(make_user(), now=now, time_zone="Europe/Berlin", **overrides)
    assert schedule.next_fire_at is not None
    Schedule.objects.filter(id=schedule.id).update(next_fire_at=schedule.next_fire_at + by)
    return schedule


def moves(zones: list[str] | None = None) -> list[Moved]:
    return [moved for batch in zone_updates.recompute(zones) for moved in batch]


def test_a_slot_that_the_new_data_moves_is_moved_and_said() -> None:
    wrong = make_wrong(HOUR, fire.read_clock().now)
    make_schedule(make_user(), now=fire.read_clock().now)
    assert wrong.next_fire_at is not None
    assert moves() == [(wrong.id, wrong.next_fire_at + HOUR, wrong.next_fire_at)]
    assert moves() == []
    event = wrong.events.get(what="reclocked")
    assert event.detail["to"] == wrong.next_fire_at.isoformat()


def test_a_slot_that_by_the_new_data_has_passed_just_now_is_fired_late_and_not_lost() -> None:
    now = fire.read_clock().now
    local = (now - timedelta(minutes=30)).astimezone(zone_updates.zoneinfo.ZoneInfo("Europe/Berlin"))
    schedule = make_schedule(make_user(), now=now - HOUR, time_zone="Europe/Berlin", rule={"time": f"{local:%H:%M}"})
    right = schedule.next_fire_at
    assert right is not None
    Schedule.objects.filter(id=schedule.id).update(next_fire_at=right + HOUR, created_at=now - 72 * HOUR)
    [moved] = moves()
    assert moved[2] == right < now
    fire.fire_due(now)
    assert schedule.occurrences.get().scheduled_for == right


def test_other_zones_are_left_alone() -> None:
    make_wrong(HOUR, fire.read_clock().now)
    assert moves(["Asia/Tokyo"]) == []
    assert len(moves(["Europe/Berlin"])) == 1


def test_a_schedule_that_cannot_be_recomputed_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged, sound = (make_wrong(HOUR, fire.read_clock().now) for _ in range(2))
    recompute = zone_updates._recompute

    def fail(schedule: Schedule, *rest: Any) -> Moved | None:
        if schedule.id == damaged.id:
            raise ValueError
        return recompute(schedule, *rest)

    monkeypatch.setattr(zone_updates, "_recompute", fail)
    assert sound.next_fire_at is not None
    assert moves() == [(sound.id, sound.next_fire_at + HOUR, sound.next_fire_at)]


def test_snoozed_and_skipped_slots_stay_so() -> None:
    now = fire.read_clock().now
    snoozed, skipped = make_schedule(make_user(), now=now), make_schedule(make_user(), now=now)
    assert skipped.next_fire_at is not None
    editing.snooze(snoozed.id, now + timedelta(days=9), now)
    editing.skip_next(skipped.id, skipped.next_fire_at, now)
    assert moves() == []


def test_a_zone_that_is_gone_quarantines_its_schedules_alone() -> None:
    now = fire.read_clock().now
    gone, sound = make_schedule(make_user(), now=now), make_wrong(HOUR, now)
    Schedule.objects.filter(id=gone.id).update(time_zone="Mars/Olympus")
    assert {schedule_id: new for schedule_id, _, new in moves()} == {gone.id: None, sound.id: sound.next_fire_at}
    assert Schedule.objects.get(id=gone.id).state == "broken"


@pytest.mark.django_db(transaction=True)
def test_a_beat_recomputes_at_its_start_what_has_changed_and_only_that() -> None:
    now = fire.read_clock().now
    for batch in zone_updates.recompute_changed():
        assert batch == []
    wrong = make_wrong(HOUR, now)
    other = make_schedule(make_user(), now=now, time_zone="Asia/Tokyo")
    Schedule.objects.filter(id=other.id).update(next_fire_at=now + timedelta(days=2))
    ZoneDigest.objects.filter(zone="Europe/Berlin").update(digest="older data")
    beat = Scheduler(app=celery_app)
    for _ in range(4):
        beat.tick()
    assert Schedule.objects.get(id=wrong.id).next_fire_at == wrong.next_fire_at
    assert Schedule.objects.get(id=other.id).next_fire_at == now + timedelta(days=2)
    assert ZoneDigest.objects.get(zone="Europe/Berlin").digest != "older data"


def test_the_command_says_what_it_moves() -> None:
    wrong = make_wrong(HOUR, fire.read_clock().now)
    out = StringIO()
    call_command("recompute_slots", stdout=out)
    assert str(wrong.id) in out.getvalue()
    assert "1 schedules moved" in out.getvalue()
    assert f"Zones are read from {zone_updates.source()}." in out.getvalue()


def test_a_zone_that_has_gone_is_forgotten() -> None:
    ZoneDigest.objects.create(zone="Mars/Olympus", digest="older data")
    for _ in zone_updates.recompute_changed():
        pass
    assert not ZoneDigest.objects.filter(zone="Mars/Olympus").exists()


@pytest.fixture
def other_zones(tmp_path: Path) -> Iterator[Path]:
    """A folder of zones that this process reads before all others; the test fills it."""
    before = zoneinfo.TZPATH
    zoneinfo.reset_tzpath([tmp_path, *before])
    yield tmp_path
    zoneinfo.reset_tzpath(before)


def test_it_is_said_where_zones_are_read_and_of_which_version(other_zones: Path) -> None:
    (other_zones / "UTC").write_bytes(b"TZif")
    assert zone_updates.source() == f"{other_zones} (of unknown version)"
    (other_zones / "tzdata.zi").write_text("# version 2026f\n# more\n")
    assert zone_updates.source() == f"{other_zones} (2026f)"
    zoneinfo.reset_tzpath([])
    assert zone_updates.source().startswith("the package tzdata (2")


@pytest.mark.parametrize("where", ["the system's", "the package's"])
def test_a_change_is_noticed_wherever_the_zones_are_read(other_zones: Path, where: str) -> None:
    if where == "the package's":
        zoneinfo.reset_tzpath([other_zones])
    for _ in zone_updates.recompute_changed():
        pass
    wrong = make_wrong(HOUR, fire.read_clock().now)
    assert [moved for batch in zone_updates.recompute_changed() for moved in batch] == []
    (other_zones / "Europe").mkdir()
    tokyo = resources.files("tzdata.zoneinfo.Asia").joinpath("Tokyo").read_bytes()
    (other_zones / "Europe" / "Berlin").write_bytes(tokyo)  # other data than before, whatever it says
    assert [schedule_id for batch in zone_updates.recompute_changed() for schedule_id, _, _ in batch] == [wrong.id]
