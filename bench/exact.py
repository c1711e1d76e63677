"""`script/bench exact [--slots 50000] [--seed S]`: a proof that each slot gets exactly one occurrence.

Real beats run on a clock that is fast and set back and forth. They are killed at random and at the two worst points
(before and after the commit), while schedules are edited, paused, snoozed, skipped and deleted.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from bench.environment import children_environment, environment
from bench.exact_model import TICK, Expected
from bench.warped_clock import WarpedClock
from demo.child import Child

SPEED = 400.0
BEATS = 3
# Where beats are killed, in turn: the fault points lie before and after the commit.
WHERE = ("recorded", "waking", "anywhere", "anywhere")
GIVEN_UP_AFTER = 240.0  # seconds


@dataclass(frozen=True)
class Verdict:
    """`missing`: slots without occurrence; `extra`: occurrences without slot; `twice`: more than one notification;
    `unsent`: fired without a notification and its delivery."""

    slots: int
    edits: int
    killed: int
    missing: int
    extra: int
    twice: int
    unsent: int

    @property
    def exact(self) -> bool:
        return not (self.missing or self.extra or self.twice or self.unsent)


class Run:
    def __init__(self, schedules: int, slots: int, seed: int, fault_points: Path) -> None:
        from bench.rows import make_channel, make_user
        from schedules.models import Schedule

        self.channels = [make_channel(make_user())]
        self.luck = random.Random(seed)
        self.slots = slots
        self.fault_points = fault_points
        self.clock = WarpedClock(time.time(), SPEED)
        self.expected: dict[Schedule, Expected] = {}
        self.beats: list[Child] = []
        self.killed = self.edits = 0
        for _ in range(schedules):
            self._make()

    def _make(self) -> None:
        from bench.rows import make_schedule

        every, anchor, now = self.luck.choice([1, 2]), self._anchor(), self.clock.now()
        schedule = make_schedule(self.channels[0].user, self.channels, "interval", _rule(every, anchor), now)
        self.expected[schedule] = Expected(every, anchor, now)

    def _anchor(self) -> datetime:
        return self.clock.now().replace(microsecond=0, hour=0, minute=0) - timedelta(
            days=1, seconds=self.luck.randrange(600)
        )

    def go(self) -> Verdict:
        restless = self.luck.sample(sorted(self.expected, key=lambda schedule: schedule.id), len(self.expected) // 2)
        where, given_up_at = itertools.cycle(WHERE), time.monotonic() + GIVEN_UP_AFTER
        kill_at = math.inf
        try:
            while not self._has_seen_enough():
                self._keep_beats()
                self._edit(self.luck.choice(restless))
                if kill_at == math.inf and self._recorded():
                    kill_at = time.monotonic()  # not before a beat works
                # On a busy machine a beat may start for longer than it would be left alive.
                if time.monotonic() > kill_at and not self._is_ordered():
                    self._kill(next(where))
                    kill_at = time.monotonic() + self.luck.uniform(0.5, 3.0)
                assert time.monotonic() < given_up_at, f"{self._recorded()} slots, {self.killed} killed"
                time.sleep(self.luck.random() * 0.01)
        finally:
            self.killed += sum(beat.exit_status() is not None for beat in self.beats)
            for beat in self.beats:
                beat.stop(0.0)
        return self._judge()

    def _has_seen_enough(self) -> bool:
        """Whether enough slots are recorded, and beats were killed at each point."""
        at_points = all(any(self.fault_points.glob(f"taken-{where}-*")) for where in WHERE if where != "anywhere")
        return at_points and self._recorded() >= self.slots

    def _is_ordered(self) -> bool:
        """Whether no beat has reached the point of the last order."""
        return any((self.fault_points / where).exists() for where in WHERE)

    def _recorded(self) -> int:
        from schedules.models import Occurrence

        return Occurrence.objects.count()

    def _keep_beats(self) -> None:
        alive = [beat for beat in self.beats if beat.exit_status() is None]
        self.killed += len(self.beats) - len(alive)
        while len(alive) < BEATS:
            seed = str(self.luck.randrange(10**9))
            code = "from bench import warped_clock; warped_clock.main()"
            command = [sys.executable, "-c", code, str(self.clock.started), str(SPEED), seed]
            variables = {"CARILLON_FAULT_POINTS": str(self.fault_points)} | children_environment()
            alive.append(Child("beat", command, environment=variables, on_line=lambda *_: None))
            alive[-1].start()
        self.beats = alive

    def _kill(self, where: str) -> None:
        if where == "anywhere":
            with suppress(ProcessLookupError):
                os.kill(self.luck.choice(self.beats).pid, signal.SIGKILL)
        else:
            (self.fault_points / f"{where}.new").write_text("kill")
            (self.fault_points / f"{where}.new").rename(self.fault_points / where)

    def _edit(self, schedule: object) -> None:
        from schedules.changes import editing
        from schedules.models import Schedule

        assert isinstance(schedule, Schedule)
        expected = self.expected[schedule]
        current = Schedule.objects.get(id=schedule.id)
        what = (
            self.luck.choice(["edit", "pause", "delete", "snooze", "skip", "unskip", "run"])
            if expected.going
            else "go on"
        )
        now = self.clock.now()
        self.edits += 1
        if what == "edit":
            every, anchor = self.luck.choice([1, 2, 3]), self._anchor()
            current.kind, current.rule = "interval", _rule(every, anchor)
            editing.reschedule(current, now)
            expected.stop(now, self.clock.furthest())
            # A snooze outlives an edit.
            expected.start(max(now, current.snoozed_until - TICK) if current.snoozed_until else now, every, anchor)
        elif what in ("pause", "delete"):
            getattr(editing, what)(schedule.id, now)
            expected.stop(now, self.clock.furthest())
        elif what == "go on":
            was_deleted = current.deleted_at is not None
            (editing.restore if was_deleted else editing.resume)(schedule.id, now)
            keeps = was_deleted and current.snoozed_until
            expected.start(max(now, keeps - TICK) if keeps else now)
        elif what == "snooze":
            until = now + timedelta(minutes=self.luck.randrange(1, 5))
            editing.snooze(schedule.id, until, now)
            expected.stop(now, self.clock.furthest())
            expected.start(max(now, until - TICK))
        elif what == "skip" and current.next_fire_at is not None:
            try:
                editing.skip_next(schedule.id, current.next_fire_at, now)
                expected.may.add(current.next_fire_at)
            except editing.ScheduleConflict:
                pass  # a beat was quicker
        elif what == "unskip":
            ahead = current.occurrences.filter(scheduled_for__gt=now, reason="asked").order_by("?")
            if (slot := ahead.values_list("scheduled_for", flat=True).first()) is not None:
                # Refused where an edit has come after the slot, and the clock was set back since.
                with suppress(editing.ScheduleConflict):
                    editing.unskip(schedule.id, slot, now)
        elif what == "run":
            editing.run_now(schedule.id, now)

    def _judge(self) -> Verdict:
        from django.db import connection

        from schedules.firing import fire
        from schedules.models import Occurrence

        last = self.clock.furthest() + timedelta(minutes=20)
        while fire.fire_due(last):
            pass
        found: dict[object, set[datetime]] = {schedule.id: set() for schedule in self.expected}
        for schedule_id, slot in Occurrence.objects.exclude(reason="manual").values_list(
            "schedule_id", "scheduled_for"
        ):
            found[schedule_id].add(slot)
        missing = extra = 0
        for schedule, expected in self.expected.items():
            expected.stop(last, last)
            missing += len(expected.must - found[schedule.id])
            extra += len(found[schedule.id] - expected.must - expected.may)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT (SELECT count(*) FROM (SELECT 1 FROM notifications_notification"
                "          GROUP BY origin_id, slot HAVING count(*) > 1) t),"
                " (SELECT count(*) FROM schedules_occurrence o WHERE outcome = 'fired' AND 1 <>"
                "    (SELECT count(*) FROM notifications_notification n JOIN notifications_delivery d"
                "       ON d.notification_id = n.id WHERE n.batch_id = o.id))"
            )
            twice, unsent = cursor.fetchone()
        slots = sum(len(slots) for slots in found.values())
        return Verdict(slots, self.edits, self.killed, missing, extra, twice, unsent)


def _rule(every: int, anchor: datetime) -> dict[str, object]:
    return {"every": every, "unit": "minutes", "anchor": anchor.isoformat()}


def run(schedules: int, slots: int, seed: int) -> Verdict:
    """At least so many slots."""
    with tempfile.TemporaryDirectory() as fault_points:
        return Run(schedules, slots, seed, Path(fault_points)).go()


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench exact")
    parser.add_argument("--slots", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    slots = edits = killed = rounds = 0
    with environment() as app:
        from bench.rows import clear

        while slots < options.slots:
            clear()
            verdict = run(120, 10_000, options.seed + rounds)
            app.control.purge()
            rounds += 1
            slots, edits, killed = slots + verdict.slots, edits + verdict.edits, killed + verdict.killed
            print(verdict, flush=True)
            if not verdict.exact:
                raise SystemExit(f"Not exact, seed {options.seed + rounds - 1}")
    print(f"{slots} slots, {edits} edits, {killed} beats killed: 0 missing, 0 extra")


if __name__ == "__main__":
    main()
