"""Write a person's file, and take over what one holds: what is there already stays, and a wrong entry stops no other.

The file has each thing as the API shows it, without what only this installation knows, and without secrets.
An entry's new id follows from the person and its id in the file, so that a file that is read twice adds nothing.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import BaseModel

from api.protocol.answers import fields_of, to_json
from api.protocol.fields import written
from api.protocol.problems import FieldError, Problem, invalid, require_valid
from api.resources import me
from api.resources.schedules.documents import ScheduleBody
from api.resources.schedules.job import JobBody
from api.resources.status_pages import BadgeBody
from api.resources.transfer.sections import SECTIONS, ChannelEntry, Entry, SubscriptionEntry, Taker, read
from common.admin.base import as_uuid
from common.forms.json_file import MOST, FileRefused
from common.forms.not_possible import NotPossible
from common.parsing.budget import Budget, OverBudget
from common.texts.numbers import grouped
from people.models import User
from people.user_lock import Busy, dry_run, is_dry_run, lock_in_transaction
from schedules.firing import fire

FORMAT = "carillon"
VERSION = 1
MOST_TROUBLES = 50
MOST_WAITS = 20
"""The number of times that an import tries an entry again after a second's wait for another change of its person."""
_SECONDS = 60
_NAMESPACE = UUID("0d1f2b64-52a8-5c0f-8a0e-6f0f7b6b6c21")
# What an earlier release called members.
_RENAMED = {"channels": "channel_ids", "topic": "topic_id", "snoozed_until": "snooze_ends_at"}
_LISTS = {"channel_ids": "channels", "nag_channel_ids": "channels", "watch_ids": "watches"}


@dataclass(frozen=True, slots=True)
class Trouble:
    """An entry that was not taken; `field` is where in it."""

    section: str
    name: str
    field: str
    detail: str


@dataclass(slots=True)
class Outcome:
    """Counts of added and existing entries, by section; what the person must do, and why the rest was not read."""

    added: Counter[str] = field(default_factory=Counter)
    existing: Counter[str] = field(default_factory=Counter)
    troubles: list[Trouble] = field(default_factory=list)
    to_confirm: list[str] = field(default_factory=list)
    stopped: str = ""


def written_file(user: User, now: datetime) -> str:
    """The text of the file, a line for each entry.

    Without holidays that are over, and reminders that follow a calendar: the calendar's own makes them again.
    """
    head = {"format": FORMAT, "version": VERSION, "exported": written(now), "settings": fields_of(me.Settings, user)}
    members = [f"{to_json(name)}: {to_json(value)}" for name, value in head.items()]
    left_out = {"reminders": ~Q(made_by=None), "holidays": Q(last__lt=timezone.localdate(now, user.zone))}
    for name, section in SECTIONS.items():
        rows = section.rows(user).exclude(left_out.get(name, Q())).order_by("id")
        entries = ",".join("\n" + to_json(section.entry(row)) for row in rows)
        members.append(f"{to_json(name)}: [{entries}\n]")
    return "{\n" + ",\n".join(members) + "\n}\n"


def check(file: Any) -> dict[str, Any]:
    """The file, whose sections are lists of objects. Raises FileRefused."""
    if not isinstance(file, dict) or file.get("format") != FORMAT:
        raise FileRefused(_("Carillon has not written this file. Choose one such as carillon-2026-11-22.json."))
    if file.get("version") != VERSION:
        raise FileRefused(_("This file is of another version of Carillon. This one reads version 1."))
    lists = [file.get(name, []) for name in SECTIONS]
    if not isinstance(file.get("settings", {}), dict) or not all(isinstance(one, list) for one in lists):
        raise FileRefused(_("This file is damaged: “settings” must be an object, and everything else a list."))
    if sum(map(len, lists)) > MOST:
        raise FileRefused(_("There are more than %(most)s entries in this file. Split it.") % {"most": grouped(MOST)})
    return file


def preview(user: User, file: Mapping[str, Any]) -> Outcome:
    """Return what `load` would do: it runs, and is rolled back. It locks nobody, since nothing of it stays."""
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
    loading, budget = _Loading(user), Budget(seconds=_SECONDS)
    outcome = loading.outcome
    settings = [("settings", file["settings"])] if "settings" in file else []
    for section, entry in [*settings, *((name, entry) for name in SECTIONS for entry in file.get(name, []))]:
        loading.take(section, entry)
        try:
            budget.clock()
        except OverBudget as refusal:
            outcome.stopped = str(refusal)
        if len(outcome.troubles) >= MOST_TROUBLES:
            outcome.stopped = _("Too many entries could not be imported.")
        if outcome.stopped:
            break
    return outcome


class _Loading:
    """`ids` are what the ids of the file stand for, by section; `waits` is how often it may wait for other changes."""

    def __init__(self, user: User) -> None:
        self.user, self.taker = user, Taker(user, fire.read_clock().now)
        self.outcome = Outcome(to_confirm=self.taker.to_confirm)
        self.ids = defaultdict[str, dict[str, str]](dict)
        self.waits = MOST_WAITS
        self._same: dict[str, dict[str, str]] = {}

    def take(self, section: str, entry: Any) -> None:
        """One entry, in a transaction within; again after each wait for another change of its person."""
        name = ""
        try:
            entry = _as_object(entry)
            name = str(next(filter(None, map(entry.get, ("title", "label", "name"))), ""))[:80]
            with transaction.atomic():
                added = self._settings(entry) if section == "settings" else self._entry(section, entry)
            (self.outcome.added if added else self.outcome.existing)[section] += 1
            return
        except Problem as problem:
            errors = problem.errors or [FieldError("", problem.detail or problem.title)]
        except Busy:
            self.user.refresh_from_db()  # it may have new settings that were not saved
            if self.waits:
                self.waits -= 1
                return self.take(section, entry)
            errors = [FieldError("", _("You were changing something elsewhere. Import the file again."))]
        except NotPossible as refusal:
            errors = [FieldError("", str(refusal))]
        self.outcome.troubles += [Trouble(section, name, one.field, one.detail) for one in errors[:5]]

    def _settings(self, entry: Entry) -> bool:
        stored = fields_of(me.Settings, self.user)
        body = read(me.SettingsPatch, entry)
        wanted = stored | body.model_dump(exclude_unset=True)
        if wanted == stored and not body.wrong:
            return False
        if self.user.acting is not None and not self.user.acting.is_owner:
            raise invalid(FieldError("", _("Only owners of the team may do this. Ask one of them.")))
        form = me.settings_form(self.user, wanted)
        try:
            require_valid(body, form)
        except Problem:
            self.user.refresh_from_db()
            raise
        lock_in_transaction(self.user)
        if not is_dry_run():  # what follows is checked with these settings, but nobody waits for the person's row
            form.save()
        return True

    def _entry(self, section: str, entry: Entry) -> bool:
        """Whether it is added or restored; else it exists already."""
        kind, id_in_file, is_new = SECTIONS[section], str(entry.get("id")), False
        key = uuid5(_NAMESPACE, f"{self.user.pk}:{entry.get('id') or _canonical(entry)}")
        ids = [key, *filter(None, [as_uuid(id_in_file)])]
        existing = None
        if kind.has_ids:
            existing = kind.rows(self.user).filter(pk__in=ids).values_list("pk", flat=True).first()
        if existing is None and kind.restore is not None:
            deleted = kind.rows(self.user).model._default_manager.filter(user=self.user, deleted_at__isnull=False)
            if is_new := (existing := deleted.filter(pk__in=ids).values_list("pk", flat=True).first()) is not None:
                kind.lock(self.user)
                kind.restore(self.taker, existing)
        if existing is None:
            body = read(kind.body, entry)
            self._use_own_ids(body)
            if not getattr(body, "wrong", ()):
                existing = self._own_contents(section).get(_compared(section, body))
            if is_new := existing is None:
                existing = kind.add(self.taker, body, key)
                if kind.restore is None:
                    self._own_contents(section)[_compared(section, body)] = str(existing)
        self.ids[section][id_in_file] = str(existing)
        return is_new

    def _own_contents(self, section: str) -> dict[str, str]:
        """The ids of the person's rows, by what makes two entries the same."""
        if section not in self._same:
            kind, contents = SECTIONS[section], dict[str, str]()
            for one in map(kind.entry, kind.rows(self.user).order_by("id")):
                with suppress(Problem):  # a damaged row is like no entry
                    if not getattr(body := read(kind.body, one), "wrong", ()):
                        contents[_compared(section, body)] = one["id"]
            self._same[section] = contents
        return self._same[section]

    def _use_own_ids(self, body: Any) -> None:
        """Put ids of this person in place of those of the file. Refuses one that is needed."""
        self._use_own_lists(body)
        match body:
            case SubscriptionEntry(topic_id=UUID() as topic_id):
                body.topic_id = UUID(self.ids["topics"].get(str(topic_id), str(topic_id)))
            case BadgeBody(watch_id=str() as watch_id):
                if (own := self.ids["watches"].get(watch_id)) is None:
                    raise invalid(FieldError("watch_id", _("Its watch could not be imported."), "watch_missing"))
                body.watch_id = own
            case ScheduleBody(job=JobBody() as job):
                job.connection_id = self.ids["connections"].get(str(job.connection_id))

    def _use_own_lists(self, body: Any) -> None:
        chosen = getattr(body, "channel_ids", [])
        for name, section in _LISTS.items():
            if named := getattr(body, name, []):
                setattr(body, name, [self.ids[section][key] for key in named if key in self.ids[section]])
        if chosen and not body.channel_ids:
            text = _("None of its channels could be imported. Add one of the same name and address, and import again.")
            body.refuse(FieldError("channel_ids", text, "channels_missing"))
        if hasattr(body, "in_order") and len(body.channel_ids or ()) < 2:
            body.in_order, body.escalate_after = False, None  # a single channel that is left has no order


def _as_object(entry: Any) -> Entry:
    if not isinstance(entry, dict):
        raise invalid(FieldError("", _("This must be an object."), "dict_type"))
    return {_RENAMED.get(name, name): value for name, value in cast(Entry, entry).items()}


def _compared(section: str, body: BaseModel) -> str:
    """Return the values that make two entries the same; nobody has a second inbox."""
    if isinstance(body, ChannelEntry) and body.kind in ("inbox", "team", "on_call"):
        return body.kind
    values = body.model_dump(include={*SECTIONS[section].same})
    listed = {name: sorted(values[name]) for name in ("channel_ids", "watch_ids") if name in values}
    return _canonical(values | listed)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
