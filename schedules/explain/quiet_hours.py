"""Effects of quiet hours on the next times of a reminder."""

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from common.times import civil_time
from notifications import providers
from notifications.models import Channel
from people import quiet
from people.models import User
from schedules.models import Schedule
from schedules.parts import words


class QuietHours:
    """Those that hold a reminder back on these channels, to which it goes at its time."""

    def __init__(self, user: User, urgent: bool, channels: Iterable[Channel]) -> None:
        every = list(channels)
        silent = [] if urgent else [channel for channel in every if providers.disturbs(channel.provider)]
        self._hours = user.hours if silent else None
        self._labels = [channel.label for channel in silent] if len(silent) < len(every) else []

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        """Of a stored one. An audience has quiet hours of its own."""
        channels = [] if schedule.audience else schedule.ordered_channels()
        return cls(schedule.user, schedule.urgent, channels[:1] if schedule.channel_order else channels)

    def wait(self, slot: datetime) -> quiet.Wait | None:
        return quiet.wait(slot, self._hours)

    def notes(self, slots: Iterable[datetime]) -> dict[datetime, str]:
        """A sentence for each slot that they hold: how to ring in time stands in the first."""
        notes: dict[datetime, str] = {}
        for slot in slots:
            if self._hours is not None and (wait := self.wait(slot)) is not None:
                rings_at = "" if notes else f"{civil_time.local(self._hours.zone, slot):%H:%M}"
                notes[slot] = words.on_hold(wait.shown, rings_at, self._labels)
        return notes
