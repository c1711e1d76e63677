"""`manage.py reclock`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from schedules.beat import zone_updates


class Command(BaseCommand):
    help = "Recompute every next slot with the zone database that is installed now, and say which of them move."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Zones are read from {zone_updates.source()}.")
        moved = 0
        for batch in zone_updates.recompute():
            for one in batch:
                self.stdout.write(
                    f"schedule {one.schedule_id}: {one.old.isoformat()} -> {one.new and one.new.isoformat()}"
                )
            moved += len(batch)
        self.stdout.write(f"{moved} schedules moved")
