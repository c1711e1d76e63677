"""The file: each thing as the API shows it, without what only this installation knows, and without secrets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from pydantic import BaseModel

from api import connections
from api.answers import fields_of, to_json
from api.channels import document as channels
from api.events.inbound import document as inbound_document
from api.fields import written
from api.rules import document as rules
from api.rules.body import RuleBody
from api.schedules import document as schedules
from api.schedules.body import ScheduleBody
from api.schedules.holidays import HolidayBody
from api.schedules.holidays import document as holiday_document
from api.topics import TopicBody
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


def document(user: User, now: datetime) -> dict[str, Any]:
    """Without holidays that are over, and reminders that follow a calendar: the calendar's own makes them again."""
    today = timezone.localdate(now, user.zone)
    holidays = Holiday.objects.filter(user=user, last__gte=today, ended_at=None).order_by("id")
    joined = Subscription.objects.for_user(user).current().select_related("topic")
    return {
        "format": FORMAT,
        "version": VERSION,
        "exported": written(now),
        "settings": settings_of(user),
        "channels": _pick(CHANNEL, map(channels.document, Channel.objects.for_user(user).order_by("id"))),
        "connections": _pick(CONNECTION, map(connections.document, Connection.objects.for_user(user).order_by("id"))),
        "topics": [topic_of(topic) for topic in Topic.objects.for_user(user).order_by("id")],
        "subscriptions": [subscription_of(one) for one in joined.order_by("id")],
        "inbound": _pick(INBOUND, map(inbound_document, InboundAddress.objects.for_user(user).order_by("id"))),
        "rules": _pick(
            RULE, map(rules.document, Rule.objects.for_user(user).order_by("id").prefetch_related("channels"))
        ),
        "reminders": _pick(REMINDER, _reminders(user)),
        "holidays": _pick(HOLIDAY, map(holiday_document, holidays)),
    }


def text(document: Mapping[str, Any]) -> str:
    """The file of a document: each thing on one line. Indented ones would take ten times as long to write."""
    parts = []
    for name, value in document.items():
        lines = ",\n".join(map(to_json, value)) if isinstance(value, list) else ""
        parts.append(f"{to_json(name)}: " + (f"[\n{lines}\n]" if lines else to_json(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _reminders(user: User) -> Iterator[dict[str, Any]]:
    """Two statements."""
    own = Schedule.objects.for_user(user).filter(made_by=None).order_by("id")
    # Not by prefetch_related, which makes an instance of each channel for each reminder.
    links = Schedule.channels.through.objects.filter(schedule__in=own.order_by(), channel__removed_at=None)
    channels = defaultdict[UUID, list[UUID]](list)
    for schedule_id, channel_id in links.order_by("channel").values_list("schedule_id", "channel_id"):
        channels[schedule_id].append(channel_id)
    for schedule in own:
        yield schedules.document(
            schedule, sort_channels(schedule.channel_order, channels[schedule.id], lambda key: key)
        )


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


def _pick(names: Iterable[str], documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: one[name] for name in names} for one in documents]
