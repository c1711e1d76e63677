"""The load of the cell of teams: reminders that members get on their own channels, and that stand on boards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from bench.faults.workload import RULES, Asked, Workload, channel_at, once_at
from bench.rows import make_channel, make_user
from events.pure.envelope import Envelope
from notifications.deliveries.boards import STORED
from people import teams
from people.models import Membership, Role, User
from schedules.models import Schedule

_MEMBERS = 4
_BOARDS = """
SELECT n.subject, d.state, (SELECT count(*) FROM notifications_boardmessage m WHERE m.delivery_id = d.id)
  FROM notifications_delivery d JOIN notifications_notification n ON n.id = d.notification_id
 WHERE d.provider = 'board'
"""


@dataclass(frozen=True, slots=True)
class TeamWorkload(Workload):
    """A reminder for every four `deliveries`, one to each member. No board gets more than it stores."""

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        rng, owner = random.Random(self.seed), make_user()
        team = teams.create(owner, "Team")
        people = [owner, *(make_user() for _ in range(_MEMBERS - 1))]
        Membership.objects.bulk_create(Membership(team=team, person=one, role=Role.MEMBER) for one in people[1:])
        paths = [f"/ok/{number}/{RULES[number % len(RULES)]}" for number in range(_MEMBERS)]
        for person, path in zip(people, paths, strict=True):
            channel = channel_at(person, path, sink_port)
            channel.use_for_new = True
            channel.save()
        titles = [f"ok-{number}" for number in range(self.deliveries // _MEMBERS)]
        members = make_channel(team, "team")
        boards = [make_channel(team, "board", label=f"Board {number}") for number in range(len(titles) // STORED + 1)]
        begin = timezone.now() + timedelta(seconds=1)
        schedules = [once_at(team, title, begin + timedelta(seconds=rng.uniform(0, self.seconds))) for title in titles]
        with transaction.atomic():
            Schedule.objects.bulk_create(schedules)
            Schedule.channels.through.objects.bulk_create(
                Schedule.channels.through(schedule_id=schedule.id, channel_id=channel.id)
                for number, schedule in enumerate(schedules)
                for channel in (members, boards[number // STORED])
            )
        return {Asked(title, path) for title in titles for path in paths}, owner, []


def wrong_boards() -> Iterator[str]:
    """What does not stand on its board once."""
    with connection.cursor() as cursor:
        cursor.execute(_BOARDS)
        for title, state, times in cursor.fetchall():
            if (state, times) != ("delivered", 1):
                yield f"{title} stands {times} times on its board, and is {state}"
