"""Add one entry of a file. It is the body of an operation of the API, less the secrets, which no file holds."""

from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, ValidationError

from api.protocol import words
from api.protocol.fields import Instant
from api.protocol.problems import FieldError, errors, invalid, require_valid
from api.resources import rules as rule_bodies
from api.resources.channels.documents import provider_of
from api.resources.inbound import InboundBody, form_of as inbound_form
from api.resources.rules import RuleBody
from api.resources.schedules import documents as schedule_bodies, holidays
from api.resources.schedules.documents import ScheduleBody
from api.resources.topics import TopicBody
from api.resources.transfer import export
from events.inbound import addresses
from events.models import InboundAddress, Topic
from events.rules import changes as rules, words as event_words
from events.topics import changes as topics, subscriptions
from events.topics.changes import TopicForm
from events.topics.subscriptions import ChannelsForm
from jobs import connections
from jobs.changes import connections as connection_changes
from notifications.channels import changes
from notifications.channels.forms import ChannelForm, LabelForm
from notifications.deliveries.outbox import NOT_IN_ORDER
from notifications.messages.message import Destination
from notifications.models import Channel
from notifications.net import address_checks
from notifications.providers.base import HasForm
from people.account.settings_form import SettingsForm
from people.models import User
from people.user_lock import is_dry_run, lock_in_transaction
from schedules.changes import editing
from schedules.models import Schedule
from schedules.parts import words as schedule_words

# Sections whose rows can be restored, and of which two may say the same; whether there is room, and the refusal.
ROOM = {
    "rules": (rules.limit_reached, event_words.limit_reached),
    "reminders": (editing.limit_reached, schedule_words.limit_reached),
}
# A finished reminder has no time to come, and is valid as it was then.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)

Entry = dict[str, Any]
Body = TypeVar("Body", bound=BaseModel)
BodyOfChannels = TypeVar("BodyOfChannels", RuleBody, ScheduleBody)


class _Address(BaseModel):
    """A channel or a connection, without the fields that hold secrets."""

    model_config = ConfigDict(strict=True)

    kind: str = ""
    label: str = ""
    fields: dict[str, Any] = {}


class _Snoozed(BaseModel):
    snoozed_until: Instant | None = None


class Additions:
    """`add_` and the name of a section: it adds an entry, whose ids are the person's, and returns the id of its row.

    `key` is the id for a rule or a reminder. Channels, connections and inbound addresses in `to_confirm` lack secrets.
    """

    def __init__(self, user: User, now: datetime) -> None:
        self.user, self.now = user, now
        self.to_confirm: list[str] = []

    def lock(self, section: str) -> None:
        lock_in_transaction(self.user)
        self._require_room(section)

    def _require_room(self, section: str) -> None:
        limit_reached, refusal = ROOM[section]
        if limit_reached(self.user):
            raise invalid(FieldError("", refusal()))

    def settings(self, entry: Entry) -> bool:
        stored = export.settings_of(self.user)
        wanted = read(export.Settings, stored | entry).model_dump()
        if wanted == stored:
            return False
        form = SettingsForm(wanted, instance=self.user)
        if not form.is_valid():
            self.user.refresh_from_db()
            raise invalid(*errors(form))
        lock_in_transaction(self.user)
        if not is_dry_run():  # what follows is checked with these settings, but nobody waits for the person's row
            form.save()
        return True

    def add_channels(self, entry: Entry, key: str) -> UUID:
        given = read(_Address, entry)
        provider = provider_of(given.kind)
        if provider.from_browser:
            raise invalid(FieldError("kind", _("Add this channel again in the browser that it is for.")))
        destination, is_whole = self._destination(provider, given)
        channel = changes.add_at(self.user, given.kind, destination, given.label)
        form = ChannelForm({**entry, "label": channel.label}, channel, provider)
        require_valid(form)
        changes.change_settings(channel, **form.cleaned_data)
        if channel.verified_at is None or not is_whole:
            Channel.objects.filter(id=channel.id).update(verified_at=None)
            self.to_confirm.append(channel.label)
        return channel.id

    def add_connections(self, entry: Entry, key: str) -> UUID:
        given = read(_Address, entry)
        if (kind := connections.find(given.kind)) is None:
            raise invalid(FieldError("kind", _("This installation has no such kind of connection.")))
        destination, _is_whole = self._destination(kind, given)
        connection = connection_changes.add(self.user, kind, destination, given.label, checked=False)
        self.to_confirm.append(connection.label)
        return connection.id

    def _destination(self, kind: HasForm, given: _Address) -> tuple[Destination, bool]:
        """Return the destination of the fields, without secrets that the file lacks, and whether none is missing."""
        form, label_form = kind.form(given.fields), LabelForm({"label": given.label})
        address_checks.are_valid(self.user.pk, form, label_form, visits=False)
        missing = [
            name for name, found in form.errors.as_data().items()
            if name not in given.fields and all(one.code == "required" for one in found)
        ]  # fmt: skip
        if wrong := [one for one in errors(form, "fields") if one.field.removeprefix("fields.") not in missing]:
            raise invalid(*wrong)
        require_valid(label_form)
        try:
            found = kind.destination(form.cleaned_data | dict.fromkeys(missing, ""))
        except (ValueError, TypeError, LookupError):  # the secret is all that it is made of
            return Destination({}), False
        return Destination(found.address, {name: one for name, one in found.secrets.items() if one}), not missing

    def add_topics(self, entry: Entry, key: str) -> UUID:
        form = TopicForm(read(TopicBody, entry).model_dump(), self.user)
        require_valid(form)
        return topics.create(form).id

    def add_subscriptions(self, entry: Entry, key: str) -> UUID:
        topic_id = _uuid(entry["topic"])
        topic = Topic.objects.to_join(self.user).filter(id=topic_id).first() if topic_id else None
        if topic is None:
            raise invalid(FieldError("topic", _("There is no such topic here that you may subscribe to.")))
        form = ChannelsForm({"channels": entry["channels"]}, self.user)
        require_valid(form)
        return subscriptions.join(self.user, topic, form.chosen).id

    def add_inbound(self, entry: Entry, key: str) -> UUID:
        """Its address is a new one. Where requests are signed, it takes none before the secret is entered again."""
        body = read(InboundBody, entry)
        form = inbound_form(body, InboundAddress(label=body.label, scheme=body.scheme))
        address = addresses.create(self.user, form)
        if body.scheme != "none":
            self.to_confirm.append(body.label)
        return address.id

    def add_rules(self, entry: Entry, key: str) -> UUID:
        self._require_room("rules")  # before the work of reading it
        body = _in_order(read(RuleBody, entry))
        rule, channels = rule_bodies.described(body, self.user, also=map(UUID, body.channels))
        self.lock("rules")
        rule.id = UUID(key)
        rules.create(rule, channels)
        if entry.get("enabled") is False:
            rules.switch(rule.id, False)
        return rule.id

    def add_holidays(self, entry: Entry, key: str) -> UUID:
        lock_in_transaction(self.user)
        return holidays.make(self.user, holidays.HolidayBody(**entry)).id

    def add_reminders(self, entry: Entry, key: str) -> UUID:
        if entry.get("audience"):
            said = _("Announcements are not imported, because they would be sent to others. Make it again.")
            raise invalid(FieldError("audience", said))
        self._require_room("reminders")  # before the work of reading it
        state, most, fired = entry.get("state"), entry.get("max_count"), entry.get("fired_count")
        if isinstance(most, int) and isinstance(fired, int) and state != Schedule.State.FINISHED:
            entry = entry | {"max_count": max(1, most - max(0, fired))}  # it rings as often as is left
        body, until = _in_order(read(ScheduleBody, entry)), read(_Snoozed, entry).snoozed_until
        finished = state in (Schedule.State.FINISHED, Schedule.State.ARCHIVED)
        since = _LONG_AGO if finished else self.now
        made, channels = schedule_bodies.described(body, self.user, since, also=map(UUID, body.channels))
        self.lock("reminders")
        made.id = UUID(key)
        editing.create(made, channels, self.now)
        if state == Schedule.State.ARCHIVED:
            editing.archive(made.id, self.now, self.user)
        elif state == Schedule.State.PAUSED or (finished and made.state == Schedule.State.ACTIVE):
            editing.pause(made.id, self.now, self.user)
        elif until is not None and until > self.now and made.next_fire_at:
            editing.snooze(made.id, until, self.now, self.user)
        return made.id


def read(model: type[Body], entry: Entry) -> Body:
    """The fields of the entry that the model has. Raises a 422 problem."""
    try:
        return model.model_validate({name: entry[name] for name in model.model_fields if name in entry})
    except ValidationError as error:
        found = error.errors()
        raise invalid(
            *(FieldError(".".join(map(str, one["loc"])), words.detail({**one}), one["type"]) for one in found)
        ) from None


def _in_order(body: BodyOfChannels) -> BodyOfChannels:
    """A single channel that is left has no order."""
    return body if len(body.channels) > 1 else body.model_copy(update=NOT_IN_ORDER)


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
