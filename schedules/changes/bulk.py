"""Do one thing to many schedules of a person at once, and undo it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.db.models import QuerySet

from people.models import User
from schedules.changes import state as state_changes
from schedules.changes.state import What
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
    """Why an action leaves out a schedule. The first five are its states."""

    ACTIVE = "active"
    PAUSED = "paused"
    FINISHED = "finished"
    BROKEN = "broken"
    ARCHIVED = "archived"
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


@dataclass(frozen=True, slots=True)
class Done:
    """`at` identifies what was changed, for `undo`; `left_out` counts the others by their obstacle."""

    at: datetime
    changed: Sequence[Schedule]
    left_out: Counter[Obstacle]


@transaction.atomic
def apply(found: QuerySet[Schedule], action: Action, now: datetime, by: User, tag: str = "") -> Done:
    """Do `action` to these schedules of one person; those to which it cannot be done are left out."""
    fit, left_out = [], Counter[Obstacle]()
    for schedule in state_changes.lock(found, now):
        if (obstacle := _obstacle(schedule, action, tag)) is None:
            fit.append(schedule)
        else:
            left_out[obstacle] += 1
    if fit:
        _act(fit, action, now, by, tag)
    return Done(now, fit, left_out)


def _obstacle(schedule: Schedule, action: Action, tag: str) -> Obstacle | None:
    state, keys = Obstacle(schedule.state), set(map(key, schedule.tags))
    match action:
        case Action.PAUSE:
            return None if state == Obstacle.ACTIVE else state
        case Action.RESUME:
            return None if state == Obstacle.PAUSED else state
        case Action.ARCHIVE:
            return state if state == Obstacle.ARCHIVED else None
        case Action.UNARCHIVE:
            return None if state == Obstacle.ARCHIVED else state
        case Action.TAG:
            if key(tag) in keys:
                return Obstacle.TAGGED
            return Obstacle.TOO_MANY_TAGS if len(keys) >= MOST else None
        case Action.UNTAG:
            return None if key(tag) in keys else Obstacle.UNTAGGED
    return None


def _act(schedules: Sequence[Schedule], action: Action, now: datetime, by: User, tag: str) -> None:
    match action:
        case Action.PAUSE:
            state_changes.pause(schedules, now, by)
        case Action.RESUME:
            state_changes.resume(schedules, now, by)
        case Action.ARCHIVE:
            state_changes.archive(schedules, now, by)
        case Action.UNARCHIVE:
            state_changes.put_back(schedules, What.UNARCHIVED, now, by)
        case Action.DELETE:
            state_changes.delete(schedules, now, by)
        case Action.TAG:
            state_changes.set_tags(schedules, lambda tags: without_repeats([*tags, tag]), now, by)
        case Action.UNTAG:
            state_changes.set_tags(schedules, lambda tags: [one for one in tags if key(one) != key(tag)], now, by)


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
        state_changes.put_back(schedules, What.RESUMED, now, user)
    elif action == Action.DELETE:
        state_changes.restore(schedules, now, user)
    else:
        _act(schedules, _OPPOSITES[action], now, user, tag)
    return len(schedules)
