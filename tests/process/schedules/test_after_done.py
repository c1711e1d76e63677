"""Done in a process that is killed at any line: its message and the next time change together, or neither."""

from __future__ import annotations

import json

import pytest

from notifications.models import Notification
from schedules.firing import fire
from schedules.models import Schedule, ScheduleEvent
from tests.make import NINE, make_schedule, make_user
from tests.process.notifications.conftest import run_in_a_process

# Forks for each third line of the modules that take part, and says what a process found that was killed there.
_DIE_AT_EACH_LINE = """
import json, os, signal, sys
import django; django.setup()
from django.db import connections
from notifications.deliveries import acknowledge
from notifications.models import Notification
from schedules.changes import answers, editing
from schedules.models import Schedule

act = getattr(acknowledge, sys.argv[1])
files = {module.__file__ for module in (acknowledge, answers, editing)}

def die_at(number):
    left = [number]
    def trace(frame, event, argument):
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)

found, number, status = [], -2, -1
while status:
    number += 3
    connections.close_all()
    if not (child := os.fork()):
        message = Notification.objects.earliest("id").id
        die_at(number)
        act(message)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    found.append((Notification.objects.earliest("id").acknowledged_at is not None, Schedule.objects.get().state))
print(json.dumps(found))
"""


@pytest.mark.django_db(transaction=True)
def test_a_process_killed_at_any_line_of_done_or_its_undo_changes_all_or_nothing() -> None:
    make_schedule(
        make_user(),
        kind="interval",
        rule={"every": 3, "unit": "days", "anchor": NINE.isoformat()},
        after_done=True,
    )
    fire.fire_due(NINE)
    before, after = [False, "awaiting"], [True, "active"]
    for act, was, becomes in (("acknowledge", before, after), ("undo", after, before)):
        ran = run_in_a_process(_DIE_AT_EACH_LINE, act)
        assert ran.returncode == 0, ran.stdout
        found = json.loads(ran.stdout)
        assert len(found) > 13
        assert found.count(was) >= len(found) - 3, found  # nearly all lines are before the commit
        assert [one for one in found if one != was] == [becomes] * (len(found) - found.count(was))
        assert found[-1] == becomes
    assert list(ScheduleEvent.objects.order_by("id").values_list("what", flat=True)) == ["created", "done", "undone"]
    assert (Schedule.objects.get().next_fire_at, Notification.objects.earliest("id").acknowledged_at) == (None, None)
