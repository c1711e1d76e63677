"""Take over what a file holds: what is there already stays, and an entry that cannot be taken stops no other.

An entry's new id follows from the person and its id in the file, so that a file that is read twice adds nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.utils.translation import gettext as _, gettext_lazy
from pydantic import BaseModel

from api.protocol.problems import FieldError, Problem, errors, invalid, require_valid
from api.resources.rules import body as rule_bodies, document as rule_documents
from api.resources.rules.body import RuleBody
from api.resources.schedules import body as schedule_bodies, document as schedule_documents, holidays
from api.resources.schedules.body import ScheduleBody
from api.resources.topics import TopicBody
from api.resources.transfer import entries, export
from api.resources.transfer.destinations import Destinations
from api.resources.transfer.entries import Body, Entry, Outcome, Snoozed, Trouble
from common.parsing.budget import Budget, OverBudget
from common.texts.numbers import grouped
from events.inbound import addresses
from events.models import Rule, Subscription, Topic
from events.rules import changes as rules, words as event_words
from events.topics import changes as topics, subscriptions
from events.topics.changes import TopicForm
from jobs.changes import connections
from notifications.channels import changes, verification
from notifications.messages.change_types import STATUS
from notifications.models import Channel
from people.models import User
from people.user_lock import Busy, dry_run, is_dry_run, lock_in_transaction
from people.web.forms import SettingsForm
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Holiday, Schedule
from schedules.parts import words as schedule_words

MOST = 2_000
"""Entries of a file."""
MOST_TROUBLES = 50
MOST_WAITS = 20
"""How often an import tries an entry again after a second's wait for another change of its person."""
_SECONDS = 60
SECTIONS = {
    "settings": gettext_lazy("Settings"),
    "channels": gettext_lazy("Channels"),
    "connections": gettext_lazy("Connections"),
    "topics": gettext_lazy("Topics"),
    "subscriptions": gettext_lazy("Subscriptions"),
    "inbound": gettext_lazy("Inbound addresses"),
    "rules": gettext_lazy("Rules"),
    "reminders": gettext_lazy("Reminders"),
    "holidays": gettext_lazy("Holidays"),  # they name tags of reminders
}
"""In their order, with their names."""
_NAMESPACE = UUID("0d1f2b64-52a8-5c0f-8a0e-6f0f7b6b6c21")
# What operations refuse; the message is for the person.
_REFUSALS = (changes.Refused, verification.Refused, connections.TooMany, addresses.TooMany, topics.Refused)
# A finished reminder has no time to come, and is valid as it was then.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Unreadable(Exception):
    """This is no file of ours; the message is for the person."""


def check(file: Any) -> dict[str, Any]:
    """The file, whose sections are lists of objects. Raises Unreadable."""
    if not isinstance(file, dict) or file.get("format") != export.FORMAT:
        raise Unreadable(_("Carillon has not written this file. Choose one such as carillon-2026-11-22.json."))
    if file.get("version") != export.VERSION:
        raise Unreadable(_("This file is of another version of Carillon. This one reads version 1."))
    lists = [file.get(name, []) for name in SECTIONS if name != "settings"]
    if not isinstance(file.get("settings", {}), dict) or not all(isinstance(one, list) for one in lists):
        raise Unreadable(_("This file is damaged: “settings” must be an object, and everything else a list."))
    if sum(map(len, lists)) > MOST:
        raise Unreadable(_("There are more than %(most)s entries in this file. Split it.") % {"most": grouped(MOST)})
    return file


def preview(user: User, file: Mapping[str, Any]) -> Outcome:
    """What `load` would do: it is done, and undone. It locks nobody, since nothing of it stays."""
    with transaction.atomic(), dry_run():
        outcome = load(user, file)
        transaction.set_rollback(True)
    user.refresh_from_db()
    return outcome


def load(user: User, file: Mapping[str, Any]) -> Outcome:
    """Take over a checked file, each entry in a transaction that locks the person when all of it is checked.

    It stops after `MOST_TROUBLES`, and after `_SECONDS` of computing. What it has taken stays, and is there already
    when the file is read again.
    """
    loading, budget = _Loading(user, fire.read_clock().now), Budget(seconds=_SECONDS)
    outcome = loading.outcome
    for section in SECTIONS:
        held = file.get(section, [])
        for entry in [held] if section == "settings" and section in file else held:
            loading.take(section, entry)
            try:
                budget.clock()
            except OverBudget as refusal:
                outcome.stopped = str(refusal)
            if len(outcome.troubles) >= MOST_TROUBLES:
                outcome.stopped = _("Too many entries could not be imported.")
            if outcome.stopped:
                return outcome
    return outcome


class _Loading(Destinations):
    """`topics` are what the ids of the file stand for; `waits` is how often it may still wait for other changes."""

    def __init__(self, user: User, now: datetime) -> None:
        super().__init__(user, now)
        self.topics: dict[str, Topic] = {}
        self.waits = MOST_WAITS

    def take(self, section: str, entry: Any) -> None:
        """One entry, in a transaction within."""
        take: Callable[[Entry], bool] = getattr(self, f"_{section}")
        name = ""
        try:
            if not isinstance(entry, dict):
                raise invalid(FieldError("", _("This must be an object.")))
            name = str(entry.get("title") or entry.get("label") or entry.get("name") or "")[:80]
            counted = self.outcome.added if self._in_turn(take, entry) else self.outcome.known
            counted[section] += 1
        except Problem as problem:
            found = problem.errors or [FieldError("", problem.detail or problem.title)]
            self.outcome.troubles += [Trouble(section, name, one.field, one.detail) for one in found[:5]]
        except Busy:
            said = _("You were changing something elsewhere. Import the file again.")
            self.outcome.troubles.append(Trouble(section, name, "", said))
        except _REFUSALS as refusal:
            self.outcome.troubles.append(Trouble(section, name, "", str(refusal)))

    def _in_turn(self, take: Callable[[Entry], bool], entry: Entry) -> bool:
        """Raises Busy once all waits are used up."""
        while True:
            try:
                with transaction.atomic():
                    return take(entry)
            except Busy:
                self.user.refresh_from_db()  # it may have new settings that were not saved
                if not self.waits:
                    raise
                self.waits -= 1

    def _settings(self, entry: Entry) -> bool:
        stored = export.settings_of(self.user)
        wanted = stored | {
            name: None if entry[name] is None else entries.text(entry, name) for name in stored.keys() & entry.keys()
        }
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

    def _topics(self, entry: Entry) -> bool:
        body = entries.read(TopicBody, entry)
        own = Topic.objects.for_user(self.user).filter(slug=body.slug).first()
        if own is not None:
            self.topics[str(entry.get("id"))] = own
            return False
        form = TopicForm(body.model_dump(), self.user)
        require_valid(form)
        self.topics[str(entry.get("id"))] = topics.create(form)
        return True

    def _subscriptions(self, entry: Entry) -> bool:
        topic = self.topics.get(str(entry.get("topic"))) or self._topic_to_join(entry)
        current = Subscription.objects.for_user(self.user).current().filter(topic=topic)
        if current.exists():
            return False
        subscriptions.join(self.user, topic, [channel.id for channel in self._chosen(entry)])
        return True

    def _topic_to_join(self, entry: Entry) -> Topic:
        key = entries.uuid(entry.get("topic"))
        found = Topic.objects.to_join(self.user).filter(id=key).first() if key else None
        if found is None:
            raise invalid(FieldError("topic", _("There is no such topic here that you may subscribe to.")))
        return found

    def _rules(self, entry: Entry) -> bool:
        if (known := self._known(entry, self._rules_deleted)) is not None:
            if was_deleted := self._rules_deleted[known]:
                lock_in_transaction(self.user)
                self._require_room_for_rules()
                rules.restore(known)
                self._rules_deleted[known] = False
            return was_deleted
        chosen = self._chosen(entry)
        if self._compared(entry, RuleBody) in self._own_rules:
            return False
        self._require_room_for_rules()  # before the work of reading it
        body = _with_channels(entries.read(RuleBody, entry), chosen)
        draft = rule_bodies.draft(body, self.user, also=[one.id for one in chosen])
        lock_in_transaction(self.user)
        self._require_room_for_rules()
        rule_id = rules.create(self.user, draft, self._new_id(entry)).id
        if entry.get("enabled") is False:
            rules.switch(rule_id, False)
        self._rules_deleted[rule_id] = False
        return True

    def _require_room_for_rules(self) -> None:
        if rules.limit_reached(self.user):
            raise invalid(FieldError("", event_words.limit_reached()))

    def _holidays(self, entry: Entry) -> bool:
        body = entries.read(holidays.HolidayBody, entry)
        said = body.model_dump()
        for one in map(holidays.document, Holiday.objects.filter(user=self.user, ended_at=None)):
            if all(one[name] == said[name] for name in said):
                return False
        lock_in_transaction(self.user)
        holidays.make(self.user, body)
        return True

    def _reminders(self, entry: Entry) -> bool:
        if (known := self._known(entry, self._reminders_deleted)) is not None:
            if was_deleted := self._reminders_deleted[known]:
                lock_in_transaction(self.user)
                self._require_room()
                editing.restore(known, self.now, self.user)
                self._reminders_deleted[known] = False
            return was_deleted
        key = self._new_id(entry)  # before the ids in it are replaced
        chosen = self._chosen(entry)
        entry = self._with_connection(entry)
        if self._compared(entry, ScheduleBody) in self._own_reminders:
            return False
        if entry.get("audience"):
            said = _("Announcements are not imported, because they would be sent to others. Make it again.")
            raise invalid(FieldError("audience", said))
        self._require_room()  # before the work of reading it
        body = _with_channels(entries.read(ScheduleBody, entries.with_rest(entry)), chosen)
        until = entries.read(Snoozed, entry).snoozed_until
        finished = entry.get("state") in (Schedule.State.FINISHED, Schedule.State.ARCHIVED)
        since = _LONG_AGO if finished else self.now
        draft = schedule_bodies.draft(body, self.user, since, also=[one.id for one in chosen])
        lock_in_transaction(self.user)
        self._require_room()
        made = editing.create(self.user, draft, self.now, key)
        if entry.get("state") == Schedule.State.ARCHIVED:
            editing.archive(made.id, self.now, self.user)
        elif entry.get("state") == Schedule.State.PAUSED or (finished and made.state == Schedule.State.ACTIVE):
            editing.pause(made.id, self.now, self.user)
        elif until is not None and until > self.now and made.next_fire_at:
            editing.snooze(made.id, until, self.now, self.user)
        self._reminders_deleted[made.id] = False
        return True

    def _require_room(self) -> None:
        if editing.limit_reached(self.user):
            raise invalid(FieldError("", schedule_words.limit_reached()))

    def _with_connection(self, entry: Entry) -> Entry:
        """The connection that its id in the file stands for."""
        job = entry.get("job")
        if not isinstance(job, dict) or not job.get("connection_id"):
            return entry
        found = self.connections.get(str(job["connection_id"]))
        return entry | {"job": job | {"connection_id": found and str(found.id)}}

    def _chosen(self, entry: Entry) -> list[Channel]:
        """The channels that the entry names. Raises a problem where it names some and none is here."""
        named = entry.get("channels") or []
        if not isinstance(named, list):
            raise invalid(FieldError("channels", _("This must be a list.")))
        found = [self.channels[str(key)] for key in named if str(key) in self.channels]
        found = [channel for channel in found if channel.provider != STATUS]
        if named and not found:
            said = _("None of its channels could be imported. Add one of the same name and address, and import again.")
            raise invalid(FieldError("channels", said))
        return found

    def _compared(self, entry: Mapping[str, Any], body: type[BaseModel]) -> str:
        """What makes two entries the same: all that a body says, with our channels."""
        said = {name: entry.get(name) for name in body.model_fields}
        return entries.canonical(said | {"channels": sorted(str(one.id) for one in self._chosen_ids(entry))})

    def _chosen_ids(self, entry: Mapping[str, Any]) -> Iterator[Channel]:
        return (self.channels[str(key)] for key in entry.get("channels") or () if str(key) in self.channels)

    @cached_property
    def _own_rules(self) -> set[str]:
        own = Rule.objects.for_user(self.user).prefetch_related("channels")
        return {_own(rule_documents.document(one), RuleBody) for one in own}

    @cached_property
    def _own_reminders(self) -> set[str]:
        own = Schedule.objects.for_user(self.user).prefetch_related("channels")
        return {_own(schedule_documents.document(one), ScheduleBody) for one in own}

    def _new_id(self, entry: Entry) -> UUID:
        return uuid5(_NAMESPACE, f"{self.user.pk}:{entry.get('id') or entries.canonical(entry)}")

    def _known(self, entry: Entry, own: Mapping[UUID, bool]) -> UUID | None:
        """The id under which the entry is there already, deleted or not."""
        given = entries.uuid(entry.get("id"))
        return next((key for key in (given, self._new_id(entry)) if key in own), None)

    @cached_property
    def _rules_deleted(self) -> dict[UUID, bool]:
        return _deleted(Rule, self.user)

    @cached_property
    def _reminders_deleted(self) -> dict[UUID, bool]:
        return _deleted(Schedule, self.user)


def _deleted(model: type[Rule | Schedule], user: User) -> dict[UUID, bool]:
    """Whether each of the person's rows is deleted, by its id."""
    own = model._default_manager.filter(user=user).values_list("id", "deleted_at")
    return {key: at is not None for key, at in own}


def _own(document: Mapping[str, Any], body: type[BaseModel]) -> str:
    said = {name: document[name] for name in body.model_fields}
    return entries.canonical(said | {"channels": sorted(document["channels"])})


def _with_channels(body: Body, chosen: list[Channel]) -> Body:
    """The body with our channels; a single one that is left has no order."""
    update: dict[str, Any] = {"channels": [str(one.id) for one in chosen]}
    return body.model_copy(update=update | ({} if len(chosen) > 1 else {"in_order": False, "escalate_after": None}))
