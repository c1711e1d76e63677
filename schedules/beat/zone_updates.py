"""Recompute next slots after an update of the time zone database.

Zone files are compared by content: not every system installs the version of its database.
"""

import hashlib
import logging
import zoneinfo
from collections.abc import Collection, Iterator
from datetime import datetime
from importlib import metadata, resources
from pathlib import Path
from uuid import UUID

from django.db import transaction

from common import zones
from common.database.postgres import blames_no_row
from schedules.changes.state import set_next_slot_or_break
from schedules.changes.storage import write
from schedules.firing import fire, quarantine
from schedules.models import Occurrence, Schedule, ScheduleEvent, ZoneDigest
from schedules.parts import slots

log = logging.getLogger(__name__)

BATCH = 500
Change = ScheduleEvent.Change


Moved = tuple[UUID, datetime, datetime | None]
"""The id of a schedule, and its next slot before and now: None if none is left, or the rule is unreadable now."""


def recompute_changed() -> Iterator[list[Moved]]:
    """Recompute the schedules of zones whose data has changed, one batch a step. The last step stores the digests."""
    digests = {zone: _digest(zone) for zone in zones.known()}
    stored = dict(ZoneDigest.objects.values_list("zone", "digest"))
    changed = [zone for zone, digest in digests.items() if stored and stored.get(zone) != digest]
    changed += [zone for zone in stored if zone not in digests]
    if changed:
        yield from recompute(changed)
    if stored != digests:
        rows = [ZoneDigest(zone=zone, digest=digest) for zone, digest in digests.items()]
        with transaction.atomic():
            ZoneDigest.objects.exclude(zone__in=digests).delete()
            ZoneDigest.objects.bulk_create(
                rows, update_conflicts=True, unique_fields=["zone"], update_fields=["digest"]
            )


def recompute(zones: Collection[str] | None = None) -> Iterator[list[Moved]]:
    """Recompute all active schedules of `zones` (None: of every zone), one batch a step."""
    last = UUID(int=0)
    while True:
        with transaction.atomic():
            now = fire.read_clock().now
            ahead = Schedule.objects.filter(id__gt=last, next_fire_at__gt=now).order_by("id")
            if zones is not None:
                ahead = ahead.filter(time_zone__in=zones)
            if not (batch := list(ahead.select_for_update(no_key=True)[:BATCH])):
                return
            last = batch[-1].id
            settled = slots.settled([schedule.id for schedule in batch], now)
            moved = [one for row in batch if (one := _recompute_alone(row, settled[row.id], now)) is not None]
        yield moved


def _recompute_alone(schedule: Schedule, settled: Collection[datetime], now: datetime) -> Moved | None:
    try:
        with transaction.atomic():
            return _recompute(schedule, settled, now)
    except Exception as error:
        if blames_no_row(error):
            raise
        log.error("The next slot of schedule %s cannot be recomputed: %s", schedule.id, type(error).__name__)
        return None


def _recompute(schedule: Schedule, settled: Collection[datetime], now: datetime) -> Moved | None:
    old = schedule.next_fire_at
    set_next_slot_or_break(schedule, now, settled)
    if old is None or schedule.next_fire_at == old:
        return None
    # With the new data, a slot may already have passed that was still ahead with the old: it fires late.
    set_next_slot_or_break(schedule, min(now, _settled_until(schedule)))
    if schedule.next_fire_at == old:
        return None
    new = schedule.next_fire_at
    detail = {"from": old.isoformat(), "to": None if new is None else new.isoformat()}
    write(schedule, None, ScheduleEvent.of(schedule, Change.RECLOCKED, now, None, **detail))
    if schedule.state == Schedule.State.BROKEN:
        quarantine.notify_broken([schedule.id])
    return schedule.id, old, new


def _settled_until(schedule: Schedule) -> datetime:
    """The last instant whose slots are settled: that of the newest slot, or of the newest change of the timetable."""
    occurrences = schedule.occurrences.exclude(reason=Occurrence.Reason.MANUAL).order_by("-scheduled_for")
    slot = occurrences.values_list("scheduled_for", flat=True).first()
    changes = schedule.events.exclude(what__in=[Change.RUN, Change.RECLOCKED]).order_by("-id")
    change = changes.values_list("at", flat=True).first()
    return max(instant for instant in (slot, change, schedule.created_at) if instant is not None)


def source() -> str:
    """Return the source of this process' zones, and their version: "/usr/share/zoneinfo (2025b)"."""
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / "UTC").is_file():
            data = folder / "tzdata.zi"
            name, _, version = data.read_text().partition("\n")[0].rpartition(" ") if data.is_file() else ("", "", "")
            return f"{folder} ({version if name == '# version' else 'of unknown version'})"
    return f"the package tzdata ({metadata.version('tzdata')})"


def _digest(zone: str) -> str:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, zone)
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
    package, _, name = f"tzdata/zoneinfo/{zone}".rpartition("/")
    return hashlib.sha256(resources.files(package.replace("/", ".")).joinpath(name).read_bytes()).hexdigest()
