"""Admin of schedules, occurrences, periodic tasks and results."""

from schedules.admin import occurrence, periodic_task, result, schedule, timing

__all__ = ["occurrence", "periodic_task", "result", "schedule", "timing"]
