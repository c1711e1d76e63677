"""Settings of Celery that are the same everywhere, and the periodic tasks of beat."""

from typing import Any

from celery.schedules import crontab

# RabbitMQ keeps messages in memory as Redis does. After a restart, rescue publishes them again.
CELERY_TASK_DEFAULT_DELIVERY_MODE = "transient"
CELERY_BROKER_HEARTBEAT = 20  # seconds, of a worker with RabbitMQ
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a long outage of the broker must not end a worker
CELERY_BROKER_POOL_ACQUIRE_TIMEOUT = 5
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "maintenance"  # apart, so that rescue does not wait behind deliveries
CELERY_TASK_ROUTES = ["work.kinds.route"]
CELERY_TASK_ACKS_LATE = True  # the message of a killed worker is delivered again, earlier than rescue
CELERY_TASK_RETRY_ON_WORKER_LOST = True  # likewise of a killed child; the tries in the row stop poison messages
CELERY_TASK_TIME_LIMIT = 80  # send deadline 60 s < soft 70 s < hard 80 s < lease 90 s
CELERY_TASK_SOFT_TIME_LIMIT = 70
CELERY_RESULT_BACKEND = "django-db"
CELERY_RESULT_EXTENDED = True
CELERY_RESULT_EXPIRES = 7 * 24 * 3600
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # more would wait behind slow sends while other workers are idle
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 45  # after SIGQUIT; SIGTERM waits for all tasks
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # never abort a send
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 400_000  # KiB; of a process, or of a whole worker with threads
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False  # else a traceback is logged word by word
CELERY_BEAT_SCHEDULER = "schedules.beat.scheduler:Scheduler"
CELERY_TIMEZONE = "UTC"


def beat_schedule(with_canary: bool) -> dict[str, dict[str, Any]]:
    """The periodic tasks by name. Those of `work/broker/periodic.py` rest while they have nothing to do."""
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
