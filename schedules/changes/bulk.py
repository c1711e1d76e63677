"""Do one thing to many schedules of a person at once, and undo it."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.db.models import QuerySet

from people.models import User
from schedules.changes import state as state_changes
from schedules.changes.state import Change
from schedules.models import Schedule
from schedules.parts.tags import MOST, key, without_repeats

_State = Schedule.State


class Action(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    DELETE = "delete"
    TAG = "tag"
    UNTAG = "untag"


class Obstacle(StrEnum):
    """Why an action leaves out a schedule, if not for its state."""

    TAGGED = "tagged"
    UNTAGGED = "untagged"
    TOO_MANY_TAGS = "too-many-tags"


_OPPOSITES = {
    Action.RESUME: Action.PAUSE,
    Action.ARCHIVE: Action.UNARCHIVE,
    Action.UNARCHIVE: Action.ARCHIVE,
    Action.TAG: Action.UNTAG,
    Action.UNTAG: Action.TAG,
}
_CHANGES = {
    Action.PAUSE: state_changes.pause,
    Action.RESUME: state_changes.resume,
    Action.ARCHIVE: state_changes.archive,
    Action.UNARCHIVE: state_changes.put_back,
    Action.DELETE: state_changes.delete,
}
# The states in which an action can be done; for the others, all.
_POSSIBLE = {
    Action.PAUSE: {_State.ACTIVE, _State.AWAITING},
    Action.RESUME: {_State.PAUSED},
    Action.ARCHIVE: set(_State) - {_State.ARCHIVED},
    Action.UNARCHIVE: {_State.ARCHIVED},
}


@transaction.atomic
def apply(
    chosen: QuerySet[Schedule], action: Action, now: datetime, by: User, tag: str = ""
) -> tuple[Sequence[Schedule], Counter[str]]:
    """Do `action` to these schedules of one person. Returns those, which `now` identifies for `undo`, and how many are
    left out because it cannot be done to them, by their state or `Obstacle`."""
    possible, left_out = [], Counter[str]()
    for schedule in state_changes.lock(chosen, now):
        if (obstacle := _obstacle(schedule, action, tag)) is None:
            possible.append(schedule)
        else:
            left_out[obstacle] += 1
    if possible:
        _act(possible, action, now, by, tag)
    return possible, left_out


def _obstacle(schedule: Schedule, action: Action, tag: str) -> str | None:
    if schedule.state not in _POSSIBLE.get(action, _State):
        return schedule.state
    keys = set(map(key, schedule.tags))
    if action == Action.TAG:
        if key(tag) in keys:
            return Obstacle.TAGGED
        return Obstacle.TOO_MANY_TAGS if len(keys) >= MOST else None
    return Obstacle.UNTAGGED if action == Action.UNTAG and key(tag) not in keys else None


def _act(schedules: Sequence[Schedule], action: Action, now: datetime, by: User, tag: str) -> None:
    if action == Action.TAG:
        state_changes.set_tags(schedules, lambda tags: without_repeats([*tags, tag]), now, by)
    elif action == Action.UNTAG:
        state_changes.set_tags(schedules, lambda tags: [one for one in tags if key(one) != key(tag)], now, by)
    else:
        _CHANGES[action](schedules, now, by)


def changed_by(user: User, action: Action, at: datetime) -> QuerySet[Schedule]:
    """Return the schedules that an action changed at this instant and nobody has changed since."""
    mine = Schedule.objects.filter(user=user, updated_at=at)
    if action != Action.DELETE:
        return mine.filter(deleted_at=None)
    # What went with the reminder whose job keeps it comes back with the next check.
    return mine.filter(deleted_at=at).exclude(made_by__deleted_at=at)


@transaction.atomic
def undo(user: User, action: Action, at: datetime, now: datetime, tag: str = "") -> int:
    """Undo an action, where nobody has changed a schedule since; how many. The caller checks the person's limit."""
    if not (schedules := state_changes.lock(changed_by(user, action, at), now)):
        return 0
    if action == Action.PAUSE:
        # Not `resume`: a reminder that was snoozed is snoozed again.
        state_changes.put_back(schedules, now, user, Change.RESUMED)
    elif action == Action.DELETE:
        state_changes.restore(schedules, now, user)
    else:
        _act(schedules, _OPPOSITES[action], now, user, tag)
    return len(schedules)
