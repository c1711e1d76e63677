"""Whether a reminder's messages can arrive: in Python for one that is shown, in SQL for lists and counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from django.db.models import Q

from jobs import kinds
from notifications.models import Channel
from notifications.models.channel import usable
from schedules.models import Schedule
from schedules.parts import words

_State = Schedule.State
_Link = Schedule.channels.through


@dataclass(frozen=True, slots=True)
class Reach:
    """`nobody`: no channel works. `faulty`: the channels that do not work, or on which the last try failed."""

    nobody: bool = False
    faulty: Sequence[Channel] = ()

    @property
    def texts(self) -> list[tuple[Channel, str]]:
        """Each faulty channel, and why messages do not arrive there."""
        return [(channel, words.unreached(channel)) for channel in self.faulty]

    @property
    def level(self) -> str:
        return "nobody" if self.nobody else "partly" if self.faulty else ""

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        """Of a schedule whose channels are prefetched. Only active ones are judged: others send nothing."""
        if schedule.state != _State.ACTIVE or schedule.audience or not schedule.speaks:
            return cls()
        channels = schedule.channels.all()
        if not any(channel.is_usable for channel in channels):
            return cls(True, list(channels))
        present = schedule.ordered_channels()
        return cls(False, [channel for channel in present if not channel.is_usable or channel.failing_since])


def needs_attention(user_id: int) -> Q:
    """The schedules of a person that are broken, or whose `Reach` has a level.

    Two sets of ids, by the index of the links on their channels, so that PostgreSQL asks once for all schedules.
    """
    present = _Link.objects.filter(channel__user=user_id, channel__removed_at=None)
    reached = present.filter(usable("channel__")).values("schedule_id")
    faulty = present.exclude(usable("channel__"), channel__failing_since=None).values("schedule_id")
    silent = [kind.name for kind in kinds.all() if not kind.speaks]
    speaks = Q(state=_State.ACTIVE, audience="") & ~Q(job_kind__in=silent)
    return Q(state=_State.BROKEN) | (speaks & (~Q(id__in=reached) | Q(id__in=faulty)))
