"""Tasks: two fire schedules under the stock scheduler, with nothing left by our own beat; two prune; the canary."""

from uuid import UUID

from celery import shared_task, signals

from schedules.beat import canary, periodic_runs
from schedules.changes import retention
from schedules.firing import early_messages, fire
from schedules.parts import mirror
from work.broker import periodic

signals.task_success.connect(periodic_runs.note)


@shared_task(name=mirror.FIRE, ignore_result=True)
def fire_one(schedule_id: str) -> None:
    """Fire one schedule if it is due: the task of its `PeriodicTask`."""
    fire.fire_due(fire.read_clock().now, only=[UUID(schedule_id)])


@shared_task(name="schedules.sweep", ignore_result=True)
def sweep() -> None:
    """Fire what is due, whether or not its `PeriodicTask` has run: a crontab cannot express every rule, and no early
    messages."""
    now = fire.read_clock().now
    while fire.fire_due(now) or early_messages.send_due(now):
        pass


periodic.NEEDED["schedules.sweep"] = lambda: "SELECT WHERE false"  # our own beat has fired it


@shared_task(name="schedules.prune_slots", ignore_result=True)
def prune_slots() -> int:
    return retention.SLOTS.prune()


prune = shared_task(name="schedules.prune", ignore_result=True)(retention.prune)
run_canary = shared_task(name="schedules.canary", ignore_result=True)(canary.run)
