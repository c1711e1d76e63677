"""When things are due, and what runs on the clock: the operator's view."""

from schedules.admin import occurrence, periodic_task, result, schedule, timing

__all__ = ["occurrence", "periodic_task", "result", "schedule", "timing"]
