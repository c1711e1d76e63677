"""The file: each thing as the API shows it, without what only this installation knows, and without secrets."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from pydantic import BaseModel

from api.protocol.answers import fields_of, to_json
from api.protocol.fields import written
from api.resources import connections, inbound, rules
from api.resources.channels import documents as channels
from api.resources.rules import RuleBody
from api.resources.schedules import documents as schedules
from api.resources.schedules.documents import ScheduleBody
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

_LINES = 250
"""So many make a piece: some 10 ms of work."""
_BATCH = 500  # reminders that are read at once

Documents = Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Section:
    """A list of the file. An entry has these `fields` of a row's document; those in `same` recognise it."""

    name: Promise
    fields: tuple[str, ...]
    same: tuple[str, ...]
    rows: Callable[[User], QuerySet[Any]]
    documents: Callable[[QuerySet[Any]], Documents]

    def entries(self, rows: QuerySet[Any]) -> Iterator[dict[str, Any]]:
        return ({name: one[name] for name in self.fields} for one in self.documents(rows.order_by("id")))


class Settings(BaseModel):
    name: str
    language: str
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None


def _topic(topic: Topic) -> dict[str, Any]:
    return {"id": str(topic.id)} | fields_of(TopicBody, topic)


def _subscription(subscription: Subscription) -> dict[str, Any]:
    return {
        "id": str(subscription.id),
        "topic": str(subscription.topic_id),
        "name": subscription.topic.name,
        "channels": [str(key) for key in subscription.channel_ids],
    }


def _reminders(rows: QuerySet[Schedule]) -> Documents:
    """One statement, and two for each batch."""
    ids = list(rows.values_list("id", flat=True))
    for first in range(0, len(ids), _BATCH):
        batch = ids[first : first + _BATCH]
        # Not by prefetch_related, which makes an instance of each channel for each reminder.
        links = Schedule.channels.through.objects.filter(schedule__in=batch, channel__removed_at=None)
        channels = defaultdict[UUID, list[UUID]](list)
        for schedule_id, channel_id in links.order_by("channel").values_list("schedule_id", "channel_id"):
            channels[schedule_id].append(channel_id)
        for one in rows.filter(id__in=batch):
            order = sort_channels(one.channel_order, channels[one.id], lambda key: key)
            yield schedules.document(one, order, in_words=False)


_ADDRESS = ("kind", "label", "fields")
_RULE, _REMINDER, _HOLIDAY = (
    tuple(RuleBody.model_fields),
    tuple(ScheduleBody.model_fields),
    tuple(HolidayBody.model_fields),
)
_INBOUND = ("label", "scheme", "signature", "event")

SECTIONS = {
    "channels": Section(
        gettext_lazy("Channels"), ("id", *_ADDRESS, "use_for_new", "on_unknown", "give_up_after"), _ADDRESS,
        Channel.objects.for_user, partial(map, channels.document),
    ),
    "connections": Section(
        gettext_lazy("Connections"), ("id", *_ADDRESS), _ADDRESS,
        Connection.objects.for_user, partial(map, connections.document),
    ),
    "topics": Section(
        gettext_lazy("Topics"), ("id", *TopicBody.model_fields), ("slug",),
        Topic.objects.for_user, partial(map, _topic),
    ),
    "subscriptions": Section(
        gettext_lazy("Subscriptions"), ("topic", "name", "channels"), ("topic",),
        lambda user: Subscription.objects.for_user(user).current().select_related("topic"), partial(map, _subscription),
    ),
    "inbound": Section(
        gettext_lazy("Inbound addresses"), ("id", *_INBOUND, "enabled"), _INBOUND,
        InboundAddress.objects.for_user, partial(map, inbound.document),
    ),
    "rules": Section(
        gettext_lazy("Rules"), ("id", "enabled", *_RULE), _RULE,
        lambda user: Rule.objects.for_user(user).prefetch_related("channels"), partial(map, rules.document),
    ),
    "reminders": Section(
        gettext_lazy("Reminders"), ("id", "state", "fired_count", "snoozed_until", *_REMINDER), _REMINDER,
        Schedule.objects.for_user, _reminders,
    ),
    # They name tags of reminders.
    "holidays": Section(
        gettext_lazy("Holidays"), _HOLIDAY, _HOLIDAY,
        lambda user: Holiday.objects.filter(user=user, ended_at=None), partial(map, holiday_document),
    ),
}  # fmt: skip
"""In the order of the file, after `settings`."""


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
    head = {"format": FORMAT, "version": VERSION, "exported": written(now), "settings": settings_of(user)}
    for name, value in head.items():
        yield f"{before}{to_json(name)}: {to_json(value)}"
        before = ",\n"
    left_out = {
        "reminders": ~Q(made_by=None),
        "holidays": Q(last__lt=timezone.localdate(now, user.zone)),
    }
    for name, section in SECTIONS.items():
        yield f",\n{to_json(name)}: ["
        before = "\n"
        for entry in section.entries(section.rows(user).exclude(left_out.get(name, Q()))):
            yield before + to_json(entry)
            before = ",\n"
        yield "]" if before == "\n" else "\n]"
    yield "\n}\n"


def settings_of(user: User) -> dict[str, Any]:
    return fields_of(Settings, user)
