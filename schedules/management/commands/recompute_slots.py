"""`manage.py recompute_slots`."""

from typing import Any

from django.core.management.base import BaseCommand

from schedules.beat import zone_updates


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Recompute every next slot with the installed time zone database, and list those that move."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Zones are read from {zone_updates.source()}.")
        moved = 0
        for batch in zone_updates.recompute():
            for schedule_id, old, new in batch:
                self.stdout.write(f"schedule {schedule_id}: {old.isoformat()} -> {new and new.isoformat()}")
            moved += len(batch)
        self.stdout.write(f"{moved} schedules moved")
