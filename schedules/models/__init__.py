"""The tables of schedules."""

from schedules.models.beat import Heartbeat, ZoneDigest
from schedules.models.holiday import Holiday
from schedules.models.occurrence import Occurrence
from schedules.models.schedule import Schedule, speaks
from schedules.models.schedule_event import ScheduleEvent
