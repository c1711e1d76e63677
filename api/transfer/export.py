"""The file: each thing as the API shows it, without what only this installation knows, and without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from api import connections
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
from people.models import User
from schedules.models import Holiday, Schedule

FORMAT = "carillon"
VERSION = 1
CHANNEL = ("id", "kind", "label", "fields", "use_for_new", "on_unknown", "give_up_after")
CONNECTION = ("id", "kind", "label", "fields")
TOPIC = tuple(TopicBody.model_fields)
INBOUND = ("id", "label", "scheme", "signature", "event", "enabled")
RULE = ("id", "enabled", *RuleBody.model_fields)
HOLIDAY = tuple(HolidayBody.model_fields)
REMINDER = ("id", "state", "fired_count", "snoozed_until", *ScheduleBody.model_fields)


def document(user: User, now: datetime) -> dict[str, Any]:
    """Without holidays that are over, and reminders that follow a calendar: the calendar's own makes them again."""
    own = Schedule.objects.for_user(user).filter(made_by=None).order_by("id").prefetch_related("channels")
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
        "reminders": _pick(REMINDER, map(schedules.document, own)),
        "holidays": _pick(HOLIDAY, map(holiday_document, holidays)),
    }


def settings_of(user: User) -> dict[str, Any]:
    def edge(name: str) -> str | None:
        at = getattr(user, name)
        return at and f"{at:%H:%M}"

    return {
        "name": user.name,
        "language": user.language,
        "time_zone": user.time_zone,
        "quiet_from": edge("quiet_from"),
        "quiet_until": edge("quiet_until"),
    }


def topic_of(topic: Topic) -> dict[str, Any]:
    return {"id": str(topic.id)} | {name: getattr(topic, name) for name in TOPIC}


def subscription_of(subscription: Subscription) -> dict[str, Any]:
    return {
        "topic": str(subscription.topic_id),
        "name": subscription.topic.name,
        "channels": [str(key) for key in subscription.channel_ids],
    }


def _pick(names: Iterable[str], documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: one[name] for name in names} for one in documents]
