"""The periodic tasks of beat. Those of `work/periodic.py` rest while they have nothing to do."""

from typing import Any

from celery.schedules import crontab


def entries(with_canary: bool) -> dict[str, dict[str, Any]]:
    """By name, as CELERY_BEAT_SCHEDULE takes them."""
    own = {"canary": _every(60.0, "schedules.canary", expires=60)} if with_canary else {}
    return own | {
        "rescue": _every(5.0, "work.rescue", expires=30),
        "tell-owners": _every(300.0, "notifications.tell_owners", expires=300),
        "count-tries": _every(60.0, "work.count_tries", expires=60),
        "tell-operators": {"task": "work.tell_operators", "schedule": crontab(hour="7", minute="0")},
        "send-changes": _every(2.0, "notifications.send_changes", expires=10),
        "record-changes": _every(2.0, "events.record_changes", expires=10),
        "prune-events": _every(3600.0, "events.prune", expires=3600),
        "back-up": _every(900.0, "work.back_up", expires=900),
        "count-batches": _every(2.0, "jobs.count", expires=10),
        "prune-pings": _every(3600.0, "watches.prune", expires=3600),
        "prune-jobs": _every(3600.0, "jobs.prune", expires=3600),
        "prune-memories": _every(3600.0, "schedules.prune", expires=3600),
        "prune-history": _every(60.0, "notifications.prune_history", expires=60),
        "prune-interventions": _every(3600.0, "work.prune_interventions", expires=3600),
        "prune-slots": _every(60.0, "schedules.prune_slots", expires=60),
        "prune-changes": _every(3600.0, "notifications.prune_changes", expires=3600),
        "forget-answers": _every(3600.0, "api.forget_answers", expires=3600),
        "delete-accounts": _every(30.0, "people.delete_accounts", expires=30),
        "celery.backend_cleanup": _every(crontab(hour="4", minute="0"), "celery.backend_cleanup", expires=12 * 3600),
        "prune-people": _every(3600.0, "people.prune", expires=3600),
        # For the stock scheduler; with our own it finds nothing to do.
        "sweep": _every(5.0, "schedules.sweep", expires=30),
        "tell-watches": _every(5.0, "watches.tell", expires=30),
    }


def _every(seconds: float | crontab, task: str, expires: int) -> dict[str, Any]:
    """A task that is due every so many seconds, and whose message is dropped if no worker takes it within `expires`."""
    return {"task": task, "schedule": seconds, "options": {"expire_seconds": expires}}
