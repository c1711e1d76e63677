"""The file: each thing as the API shows it, without what only this installation knows, and without secrets."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from django.utils import timezone
from pydantic import BaseModel

from api.protocol.answers import fields_of, to_json
from api.protocol.fields import written
from api.resources import connections
from api.resources.channels import document as channels
from api.resources.events.inbound import document as inbound_document
from api.resources.rules import document as rules
from api.resources.rules.body import RuleBody
from api.resources.schedules import document as schedules
from api.resources.schedules.body import ScheduleBody
from api.resources.schedules.holidays import HolidayBody, document as holiday_document
from api.resources.topics import TopicBody
from events.models import InboundAddress, Rule, Subscription, Topic
from jobs.models import Connection
from notifications.models import Channel
from notifications.models.channel import sort_channels
from people.models import User
from schedules.models import Holiday, Schedule

FORMAT = "carillon"
VERSION = 1
CHANNEL = ("id", "kind", "label", "fields", "use_for_new", "on_unknown", "give_up_after")
CONNECTION = ("id", "kind", "label", "fields")
INBOUND = ("id", "label", "scheme", "signature", "event", "enabled")
RULE = ("id", "enabled", *RuleBody.model_fields)
HOLIDAY = tuple(HolidayBody.model_fields)
REMINDER = ("id", "state", "fired_count", "snoozed_until", *ScheduleBody.model_fields)

_LINES = 250
"""So many make a piece: some 10 ms of work."""
_BATCH = 500  # reminders that are read at once


def pieces(user: User, now: datetime) -> Iterator[str]:
    """The file, in pieces that are read when they are asked for. One that breaks off is no JSON.

    Without holidays that are over, and reminders that follow a calendar: the calendar's own makes them again.
    """
    lines = _lines(user, now)
    while piece := "".join(islice(lines, _LINES)):
        yield piece


def _lines(user: User, now: datetime) -> Iterator[str]:
    """Each thing on one line. Indented ones would take ten times as long to write."""
    before = "{\n"
    for name, value in _sections(user, now):
        yield f"{before}{to_json(name)}: "
        if isinstance(value, Iterator):
            before = "[\n"
            for one in value:
                yield before + to_json(one)
                before = ",\n"
            yield "[]" if before == "[\n" else "\n]"
        else:
            yield to_json(value)
        before = ",\n"
    yield "\n}\n"


def _sections(user: User, now: datetime) -> Iterator[tuple[str, Any]]:
    yield "format", FORMAT
    yield "version", VERSION
    yield "exported", written(now)
    yield "settings", settings_of(user)
    yield "channels", _pick(CHANNEL, map(channels.document, Channel.objects.for_user(user).order_by("id")))
    own = Connection.objects.for_user(user).order_by("id")
    yield "connections", _pick(CONNECTION, map(connections.document, own))
    yield "topics", map(topic_of, Topic.objects.for_user(user).order_by("id"))
    joined = Subscription.objects.for_user(user).current().select_related("topic")
    yield "subscriptions", map(subscription_of, joined.order_by("id"))
    yield "inbound", _pick(INBOUND, map(inbound_document, InboundAddress.objects.for_user(user).order_by("id")))
    made = Rule.objects.for_user(user).order_by("id").prefetch_related("channels")
    yield "rules", _pick(RULE, map(rules.document, made))
    yield "reminders", _pick(REMINDER, _reminders(user))
    today = timezone.localdate(now, user.zone)
    holidays = Holiday.objects.filter(user=user, last__gte=today, ended_at=None).order_by("id")
    yield "holidays", _pick(HOLIDAY, map(holiday_document, holidays))


def _reminders(user: User) -> Iterator[dict[str, Any]]:
    """One statement, and two for each batch."""
    own = Schedule.objects.for_user(user).filter(made_by=None)
    ids = list(own.order_by("id").values_list("id", flat=True))
    for first in range(0, len(ids), _BATCH):
        batch = ids[first : first + _BATCH]
        # Not by prefetch_related, which makes an instance of each channel for each reminder.
        links = Schedule.channels.through.objects.filter(schedule__in=batch, channel__removed_at=None)
        channels = defaultdict[UUID, list[UUID]](list)
        for schedule_id, channel_id in links.order_by("channel").values_list("schedule_id", "channel_id"):
            channels[schedule_id].append(channel_id)
        for one in own.filter(id__in=batch).order_by("id"):
            order = sort_channels(one.channel_order, channels[one.id], lambda key: key)
            yield schedules.document(one, order, in_words=False)


class Settings(BaseModel):
    name: str
    language: str
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None


def settings_of(user: User) -> dict[str, Any]:
    return fields_of(Settings, user)


def topic_of(topic: Topic) -> dict[str, Any]:
    return {"id": str(topic.id)} | fields_of(TopicBody, topic)


def subscription_of(subscription: Subscription) -> dict[str, Any]:
    return {
        "topic": str(subscription.topic_id),
        "name": subscription.topic.name,
        "channels": [str(key) for key in subscription.channel_ids],
    }


def _pick(names: Iterable[str], documents: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({name: one[name] for name in names} for one in documents)
