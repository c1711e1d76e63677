"""Where lines of logs go, and how they look: to standard error, one form for all processes, redacted."""

from __future__ import annotations

from typing import Any


def settings(level: str) -> dict[str, Any]:
    """Django's LOGGING, with `level` (`INFO`, `DEBUG` …) for all that is not quieter."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"()": "config.redaction.Formatter", "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        # uvicorn brings handlers of its own, which would write what ours redacts.
        "loggers": {name: {"handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.access")}
        # Two lines a task, several a second: the attempts and the task results are the record.
        | {name: {"level": "WARNING"} for name in ("celery.worker.strategy", "celery.app.trace")},
        "root": {"handlers": ["stderr"], "level": level},
    }
