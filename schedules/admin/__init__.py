"""Admin of schedules, occurrences, periodic tasks and results."""

from schedules.admin import occurrence, periodic_task, schedule

__all__ = ["occurrence", "periodic_task", "schedule"]
