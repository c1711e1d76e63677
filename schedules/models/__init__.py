"""The tables of schedules."""

from schedules.models.beat import Heartbeat, ZoneDigest
from schedules.models.history import Occurrence, ScheduleEvent
from schedules.models.holiday import Holiday
from schedules.models.schedule import Schedule, speaks
