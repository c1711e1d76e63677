"""The lists of the file: which of a person's rows they hold, and how an entry, an input with an id, is added.

Files hold no secrets: documents do not show them, and whatever is added without one must be confirmed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy
from pydantic import BaseModel, Field, ValidationError

from api.protocol.answers import Show, fields_of, shown
from api.protocol.fields import Body, FormBody, Instant, Texts
from api.protocol.problems import FieldError, invalid, require_valid
from api.protocol.words import field_errors
from api.resources import connections, inbound, rules, status_pages, topics, watches
from api.resources.channels import documents as channels
from api.resources.counters import Name
from api.resources.inbound import InboundBody
from api.resources.rules import RuleBody
from api.resources.schedules import documents as schedules, holidays
from api.resources.schedules.documents import ScheduleBody
from api.resources.schedules.holidays import HolidayBody
from api.resources.status_pages import BadgeBody
from api.resources.topics import SubscriptionBody, TopicBody
from api.resources.watches import WatchBody
from counters import totals
from counters.models import Shard
from events.models import InboundAddress, Rule, Subscription, Topic
from events.rules import changes as rule_changes
from events.topics import subscriptions
from events.topics.subscriptions import ChannelsForm
from jobs import connections as connection_kinds
from jobs.changes import connections as connection_changes
from jobs.models import Connection
from notifications import providers
from notifications.channels import changes
from notifications.channels.forms import ChannelForm, LabelForm
from notifications.messages.message import Destination
from notifications.models import Channel
from notifications.net import address_checks
from notifications.providers.base import HasForm
from people.models import User
from people.user_lock import lock_in_transaction
from schedules.changes import editing
from schedules.models import Holiday, Schedule
from watches import changes as watch_changes
from watches.models import Badge, StatusPage, Watch

Entry = dict[str, Any]
Read = TypeVar("Read", bound=BaseModel)


@dataclass(slots=True)
class Taker:
    """The file's owner, and the labels of channels, connections and inbound addresses that came without a secret."""

    user: User
    now: datetime
    to_confirm: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Section:
    """A list of the file. An entry has an id and the fields of `body`; those in `same` recognise it.

    `add` adds a body whose ids are the person's, and returns the id of its row: the key, where it can be restored.
    `require_room` raises LimitReached. Without `has_ids`, only `same` recognises its rows.
    """

    name: Promise
    body: type[BaseModel]
    same: Iterable[str]
    rows: Callable[[User], QuerySet[Any]]
    document: Show
    add: Callable[[Taker, Any, UUID], UUID]
    restore: Callable[[Taker, UUID], object] | None = None
    require_room: Callable[[User], object] = lambda user: None
    has_ids: bool = True

    def entry(self, row: Any) -> Entry:
        fields = shown(self.document, row)
        return {name: fields[name] for name in ("id", *self.body.model_fields) if name in fields}

    def lock(self, user: User) -> None:
        """Lock the person in the transaction. Raises LimitReached if there is no room for one more."""
        lock_in_transaction(user)
        self.require_room(user)


def read(model: type[Read], entry: Mapping[str, Any]) -> Read:
    """The fields of the entry that the model has. Raises a 422 problem, or leaves that to its form."""
    try:
        return model.model_validate({name: entry[name] for name in model.model_fields if name in entry})
    except ValidationError as error:
        raise invalid(*field_errors(error.errors())) from None


# A finished reminder has no time to come, and is valid as it was then.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_LARGEST = 10**15


class AddressEntry(FormBody):
    """A connection, without the fields that hold secrets."""

    kind: str = ""
    label: str = ""
    fields: dict[str, Any] = {}


class ChannelEntry(AddressEntry):
    use_for_new: bool = False
    on_unknown: str = ""
    give_up_after: int | None = None


class SubscriptionEntry(SubscriptionBody):
    topic_id: UUID = Field(strict=False)
    name: str = ""


class RuleEntry(RuleBody):
    enabled: bool = True


class ReminderEntry(ScheduleBody):
    state: str = Schedule.State.ACTIVE
    fired_count: int = 0
    snooze_ends_at: Instant | None = None


class WatchEntry(WatchBody):
    state: str = Watch.State.NEW
    stays_paused: bool = False


class StatusPageEntry(FormBody):
    """Without its address, incidents and subscribers."""

    title: str = ""
    intro: str = ""
    watch_ids: Texts = []
    enabled: bool = True


class CounterEntry(Body):
    name: Name
    value: int = Field(ge=-_LARGEST, le=_LARGEST)


def _document(body: type[BaseModel], row: Any, **others: Any) -> Entry:
    return {"id": str(row.id)} | fields_of(body, row, **others)


def _add_channel(taker: Taker, given: ChannelEntry, key: UUID) -> UUID:
    provider = channels.require_kind(providers.find(given.kind), given, str(providers.UnknownProvider(given.kind)))
    if provider.from_browser:
        raise invalid(FieldError("kind", _("Add this channel again in the browser that it is for.")))
    destination, is_whole = _destination(taker.user, provider, given)
    channel = changes.add_at(taker.user, given.kind, destination, given.label)
    form = ChannelForm(given.model_dump() | {"label": channel.label}, channel, provider)
    require_valid(given, form)
    changes.change_settings(channel, **form.cleaned_data)
    if channel.verified_at is None or not is_whole:
        Channel.objects.filter(id=channel.id).update(verified_at=None)
        taker.to_confirm.append(channel.label)
    return channel.id


def _add_connection(taker: Taker, given: AddressEntry, key: UUID) -> UUID:
    unknown = _("This installation has no such kind of connection.")
    kind = channels.require_kind(connection_kinds.find(given.kind), given, unknown)
    destination, _is_whole = _destination(taker.user, kind, given)
    connection = connection_changes.add(taker.user, kind, destination, given.label, checked=False)
    taker.to_confirm.append(connection.label)
    return connection.id


def _destination(user: User, kind: HasForm, given: AddressEntry) -> tuple[Destination, bool]:
    """Return the destination of the fields, without secrets that the file lacks, and whether none is missing."""
    form, label_form = kind.form(given.fields), LabelForm({"label": given.label})
    address_checks.are_valid(user.pk, form, label_form, visits=False)
    missing = [name for name in form.errors if name not in given.fields and form.has_error(name, "required")]
    for name in missing:
        del form.errors[name]
    require_valid(given, label_form, fields=form)
    try:
        destination = kind.destination(form.cleaned_data | dict.fromkeys(missing, ""))
    except (ValueError, TypeError, LookupError):  # the secret is all that it is made of
        return Destination({}), False
    secrets = {name: one for name, one in destination.secrets.items() if one}
    return Destination(destination.address, secrets), not missing


def _add_subscription(taker: Taker, given: SubscriptionEntry, key: UUID) -> UUID:
    if (topic := Topic.objects.to_join(taker.user).filter(id=given.topic_id).first()) is None:
        given.refuse(FieldError("topic_id", _("There is no such topic here that you may subscribe to.")))
    form = ChannelsForm({"channels": given.channel_ids}, taker.user)
    require_valid(given, form)
    assert topic is not None  # noqa: S101 - else that was refused
    return subscriptions.join(taker.user, topic, form.chosen).id


def _add_inbound(taker: Taker, body: InboundBody, key: UUID) -> UUID:
    """Its address is a new one. Where requests are signed, it takes none before the secret is entered again."""
    address = inbound.make(taker.user, body, InboundAddress(label=body.label, scheme=body.scheme))
    if body.scheme != "none":
        taker.to_confirm.append(body.label)
    return address.id


def _add_rule(taker: Taker, body: RuleEntry, key: UUID) -> UUID:
    rule, chosen = rules.described(body, taker.user, also=map(UUID, body.channel_ids or ()))
    SECTIONS["rules"].lock(taker.user)
    rule.id, rule.enabled = key, body.enabled
    return rule_changes.create(rule, chosen).id


def _add_reminder(taker: Taker, body: ReminderEntry, key: UUID) -> UUID:
    if body.audience is not None:
        text = _("Announcements are not imported, because they would be sent to others. Make it again.")
        body.refuse(FieldError("audience", text))
        body.audience = None
    if body.max_count is not None and body.state != Schedule.State.FINISHED:
        body.max_count = max(1, body.max_count - max(0, body.fired_count))  # it fires as often as is left
    state = Schedule.State
    since = _LONG_AGO if body.state in (state.FINISHED, state.ARCHIVED, state.AWAITING) else taker.now
    made, chosen = schedules.described(body, taker.user, since, also=map(UUID, body.channel_ids or ()))
    SECTIONS["reminders"].lock(taker.user)
    made.id = key
    if body.state == state.AWAITING and made.after_done:
        made.state = state.AWAITING
    editing.create(made, chosen, taker.now)
    _bring_to_state(taker, body, made)
    return made.id


def _bring_to_state(taker: Taker, body: ReminderEntry, made: Schedule) -> None:
    state = Schedule.State
    if body.state == state.ARCHIVED:
        editing.archive(made.id, taker.now, taker.user)
    elif body.state == state.PAUSED or (body.state == state.FINISHED and made.state == state.ACTIVE):
        editing.pause(made.id, taker.now, taker.user)  # one that was finished fires no more
    elif body.snooze_ends_at is not None and body.snooze_ends_at > taker.now and made.next_fire_at:
        editing.snooze(made.id, body.snooze_ends_at, taker.now, taker.user)


def _add_watch(taker: Taker, body: WatchEntry, key: UUID) -> UUID:
    made, chosen = watches.described(body, taker.user, also=map(UUID, body.channel_ids or ()))
    SECTIONS["watches"].lock(taker.user)
    made.id = key
    watch_changes.create(made, chosen)
    if body.state == Watch.State.PAUSED:
        watch_changes.pause(made.id, stays_paused=body.stays_paused)
    return made.id


def _add_locked(make: Callable[[User, Any], Any], taker: Taker, body: BaseModel, key: UUID) -> UUID:
    """By an operation for which the person is locked."""
    lock_in_transaction(taker.user)
    made: UUID = make(taker.user, body).id
    return made


def _add_counter(taker: Taker, body: CounterEntry, key: UUID) -> UUID:
    totals.add(taker.user, body.name, body.value)
    return key


SECTIONS = {
    "channels": Section(
        gettext_lazy("Channels"), ChannelEntry, AddressEntry.model_fields,
        Channel.objects.for_user, channels.ChannelDocument, _add_channel,
    ),
    "connections": Section(
        gettext_lazy("Connections"), AddressEntry, AddressEntry.model_fields,
        Connection.objects.for_user, connections.ConnectionDocument, _add_connection,
    ),
    "topics": Section(
        gettext_lazy("Topics"), TopicBody, ("slug",), Topic.objects.for_user, partial(_document, TopicBody),
        lambda taker, body, key: topics.make(taker.user, body).id,
    ),
    "subscriptions": Section(
        gettext_lazy("Subscriptions"), SubscriptionEntry, ("topic_id",),
        lambda user: Subscription.objects.for_user(user).current().select_related("topic"),
        lambda one: _document(SubscriptionEntry, one, name=one.topic.name), _add_subscription,
    ),
    "inbound": Section(
        gettext_lazy("Inbound addresses"), InboundBody, ("label", "scheme", "signature", "event"),
        InboundAddress.objects.for_user, inbound.InboundDocument, _add_inbound,
    ),
    "rules": Section(
        gettext_lazy("Rules"), RuleEntry, RuleBody.model_fields,
        lambda user: Rule.objects.for_user(user).prefetch_related("channels"), rules.RuleDocument, _add_rule,
        restore=lambda taker, key: rule_changes.restore(key),
        require_room=rule_changes.require_room,
    ),
    "reminders": Section(
        gettext_lazy("Reminders"), ReminderEntry, ScheduleBody.model_fields,
        lambda user: Schedule.objects.for_user(user).prefetch_related("channels"),
        schedules.document, _add_reminder,
        restore=lambda taker, key: editing.restore(key, taker.now, taker.user),
        require_room=editing.require_room,
    ),
    # They name tags of reminders.
    "holidays": Section(
        gettext_lazy("Holidays"), HolidayBody, HolidayBody.model_fields,
        lambda user: Holiday.objects.for_user(user).filter(ended_at=None), holidays.HolidayDocument,
        partial(_add_locked, holidays.make),
    ),
    "watches": Section(
        gettext_lazy("Watches"), WatchEntry, WatchBody.model_fields,
        lambda user: Watch.objects.for_user(user).with_channels().select_related("user__ping_key"),
        watches.document, _add_watch,
        restore=lambda taker, key: watch_changes.restore(key),
        require_room=watch_changes.require_room,
    ),
    "badges": Section(
        gettext_lazy("Badges"), BadgeBody, BadgeBody.model_fields, Badge.objects.for_user,
        status_pages.BadgeDocument, partial(_add_locked, status_pages.make_badge),
    ),
    "status_pages": Section(
        gettext_lazy("Status pages"), StatusPageEntry, StatusPageEntry.model_fields,
        lambda user: StatusPage.objects.for_user(user).prefetch_related("watches"),
        lambda page: _document(StatusPageEntry, page, watch_ids=status_pages.shown_ids(page)),
        partial(_add_locked, status_pages.make),
    ),
    "counters": Section(
        gettext_lazy("Counters"), CounterEntry, ("name",), lambda user: Shard.objects.filter(user=user).one_of_each(),
        lambda one: {"id": one.name, "name": one.name, "value": int(one.total)}, _add_counter, has_ids=False,
    ),
}  # fmt: skip
"""In the order of the file, after the settings."""
