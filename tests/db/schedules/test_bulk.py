"""One thing done to many reminders: what changes, what is left out, what each costs, and its undoing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_celery_beat.models import PeriodicTask

from notifications.models import Change, Delivery
from people import tokens
from people.models import User
from schedules.changes import bulk, editing
from schedules.changes.bulk import Action, Obstacle
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from schedules.parts import tags
from tests.make import NINE, NOON, edit_schedule, make_channel, make_schedule, make_user

LATER = NOON + timedelta(hours=1)
AFTER = NOON + timedelta(hours=2)


def do(user: User, action: Action, tag: str = "") -> tuple[Sequence[Schedule], Counter[str]]:
    return bulk.apply(Schedule.objects.for_user(user), action, LATER, user, tag)


def states(user: User) -> list[str]:
    return list(Schedule.objects.filter(user=user).order_by("title").values_list("state", flat=True))


def make_three(user: User, **overrides: Any) -> list[Schedule]:
    inbox = make_channel(user)
    return [make_schedule(user, [inbox], title=title, **overrides) for title in "ABC"]


def test_pausing_many_is_pausing_each(ada: User) -> None:
    make_three(ada)
    tokens.create(ada, "Follower", ["read"], None)
    alone = make_schedule(ada, [], title="D")
    editing.pause(alone.id, LATER, ada)
    do(ada, Action.PAUSE)
    assert states(ada) == ["paused"] * 4
    for schedule in Schedule.objects.all():
        assert (schedule.version, schedule.next_fire_at, schedule.updated_at) == (2, None, LATER)
        event = schedule.events.get(what="paused")
        assert (event.by, event.at, event.version) == (ada, LATER, 2)
    assert not PeriodicTask.objects.filter(task="schedules.fire", enabled=True).exists()
    assert Change.objects.filter(user=ada, type="schedule.paused").count() == 4


def test_what_waits_of_paused_ones_is_cancelled(ada: User) -> None:
    make_three(ada)
    fire.fire_due(NINE)
    bulk.apply(Schedule.objects.for_user(ada), Action.PAUSE, NINE, ada)
    assert set(Delivery.objects.values_list("state", "reason_code")) == {("cancelled", "paused")}


def test_what_is_due_fires_first(ada: User) -> None:
    make_three(ada)
    bulk.apply(Schedule.objects.for_user(ada), Action.RESUME, NINE, ada)
    assert Occurrence.objects.filter(outcome="fired").count() == 3


def test_what_cannot_be_done_is_left_out_and_counted(ada: User) -> None:
    one, two, _ = make_three(ada)
    editing.pause(one.id, NOON)
    Schedule.objects.filter(id=two.id).update(state="finished", next_fire_at=None)
    changed, left_out = do(ada, Action.PAUSE)
    assert [schedule.title for schedule in changed] == ["C"]
    assert left_out == {Schedule.State.PAUSED: 1, Schedule.State.FINISHED: 1}


@pytest.mark.parametrize("action", [Action.PAUSE, Action.ARCHIVE, Action.DELETE, Action.TAG])
def test_its_statements_do_not_grow_with_the_reminders(ada: User, action: Action) -> None:
    inbox = make_channel(ada)
    for size in (2, 40):
        for number in range(size):
            make_schedule(ada, [inbox], title=f"{size} {number}")
        chosen = Schedule.objects.for_user(ada).filter(title__startswith=f"{size} ")
        with CaptureQueriesContext(connection) as asked:
            bulk.apply(chosen, action, LATER, ada, "home")
        counted = len(asked)
        if size == 2:
            few = counted
    assert counted == few <= 16


@pytest.mark.parametrize("action", [Action.PAUSE, Action.ARCHIVE, Action.DELETE, Action.TAG])
def test_each_is_undone(ada: User, action: Action) -> None:
    one, two, _ = make_three(ada)
    editing.pause(one.id, NOON)
    editing.snooze(two.id, NOON + timedelta(days=9), NOON)
    before = list(
        Schedule.objects.order_by("id").values("state", "next_fire_at", "snoozed_until", "deleted_at", "tags")
    )
    changed, _left_out = do(ada, action, "home")
    assert bulk.undo(ada, action, LATER, AFTER, "home") == len(changed) > 0
    after = list(Schedule.objects.order_by("id").values("state", "next_fire_at", "snoozed_until", "deleted_at", "tags"))
    assert after == before
    enabled = set(PeriodicTask.objects.filter(enabled=True).values_list("id", flat=True))
    assert {one.periodic_task_id for one in Schedule.objects.filter(state="active")} <= enabled


def test_undoing_resume_pauses_again(ada: User) -> None:
    for schedule in make_three(ada):
        editing.pause(schedule.id, NOON)
    do(ada, Action.RESUME)
    assert states(ada) == ["active"] * 3
    bulk.undo(ada, Action.RESUME, LATER, AFTER)
    assert states(ada) == ["paused"] * 3


def test_undo_leaves_what_has_changed_since_and_what_is_anothers(ada: User) -> None:
    eve = make_user()
    one, *_ = make_three(ada)
    hers = make_schedule(eve)
    do(ada, Action.PAUSE)
    bulk.apply(Schedule.objects.for_user(eve), Action.PAUSE, LATER, eve)
    editing.resume(one.id, AFTER, ada)
    assert bulk.undo(ada, Action.PAUSE, LATER, AFTER) == 2
    hers.refresh_from_db()
    assert hers.state == "paused"


def test_tags_are_added_once_whatever_their_case_and_never_beyond_the_limit(ada: User) -> None:
    make_three(ada)
    Schedule.objects.filter(title="A").update(tags=["Home"])
    Schedule.objects.filter(title="B").update(tags=[f"t{number}" for number in range(10)])
    changed, left_out = do(ada, Action.TAG, "home")
    assert [schedule.title for schedule in changed] == ["C"]
    assert left_out == {Obstacle.TAGGED: 1, Obstacle.TOO_MANY_TAGS: 1}
    changed, left_out = do(ada, Action.UNTAG, "HOME")
    assert sorted(schedule.title for schedule in changed) == ["A", "C"]
    assert not Schedule.objects.filter(tags__overlap=["Home", "home"]).exists()


def test_an_archived_one_never_fires_and_comes_back_as_it_was(ada: User) -> None:
    schedule = make_schedule(ada)
    editing.archive(schedule.id, NOON, ada)
    assert fire.fire_due(NINE) == 0
    with pytest.raises(editing.ScheduleConflict):
        editing.run_now(schedule.id, NOON)
    back = editing.unarchive(schedule.id, NINE, ada)
    assert (back.state, back.next_fire_at) == ("active", NINE + timedelta(days=1))


@pytest.mark.parametrize("change", [editing.pause, editing.resume])
def test_an_archived_one_is_neither_paused_nor_resumed(ada: User, change: editing.StateChange) -> None:
    schedule = make_schedule(ada)
    editing.archive(schedule.id, NOON, ada)
    with pytest.raises(editing.ScheduleConflict):  # by a page that was opened before
        change(schedule.id, NOON, ada)
    schedule.refresh_from_db()
    assert schedule.state == "archived"


def test_an_edit_of_an_archived_one_leaves_it_archived(ada: User) -> None:
    schedule = make_schedule(ada)
    archived = editing.archive(schedule.id, NOON, ada)
    edited = edit_schedule(archived, LATER)
    assert (edited.state, edited.next_fire_at) == ("archived", None)


def test_a_copy_is_named_so_and_the_next_one_is_counted(ada: User) -> None:
    first = make_schedule(ada, title="Rent", tags=["home"])
    second = editing.duplicate(first.id, NOON)
    third = editing.duplicate(second.id, NOON)
    assert (second.title, third.title, third.tags) == ("Rent (copy)", "Rent (copy 2)", ["home"])
    long = editing.duplicate(make_schedule(ada, [], title="x" * 200).id, NOON)
    assert (len(long.title), long.title[-7:]) == (200, " (copy)")


def test_each_spelling_of_a_tag_is_read_once(ada: User) -> None:
    for schedule, spelled in zip(make_three(ada), (["Home"], ["home", "b"], ["home"]), strict=True):
        Schedule.objects.filter(id=schedule.id).update(tags=spelled)
    assert tags.spellings(ada) == ["b", "Home", "home"]
    assert tags.own(ada) == ["b", "Home"]
