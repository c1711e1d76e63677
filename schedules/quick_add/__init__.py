"""Read a reminder from one line, such as "water the plants every Sunday 18:00". Pure."""

from schedules.quick_add.days import Understood
from schedules.quick_add.hints import NotUnderstood
from schedules.quick_add.meaning import read

__all__ = ["NotUnderstood", "Understood", "read"]
