"""What a person does with a rule: create, change, switch on and off, delete and restore it.

Each function locks the row. An event that is being handled at that moment may still ring by the rule as it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import time
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from common.database.uuid7 import uuid7
from events.models import Rule
from jobs.batches.withdrawal import withdraw
from notifications.models import Channel
from notifications.reasons import Code
from people.models import User


class Conflict(Exception):
    """The rule has changed since its editor read it. `current` is the stored one; nothing was written."""

    def __init__(self, current: Rule) -> None:
        super().__init__(f"The rule is at version {current.version}")
        self.current = current


@dataclass(frozen=True, slots=True)
class Draft:
    """The validated input for a rule; see `Rule`. If `in_order`, the channels are tried in the order given."""

    name: str
    type_pattern: str
    title: str
    channels: Sequence[Channel]
    source: str = ""
    conditions: list[dict[str, Any]] = field(default_factory=list)
    body: str = ""
    urgent: bool = False
    in_order: bool = False
    escalate_after: int | None = None
    throttle_count: int | None = None
    throttle_seconds: int | None = None
    digest_seconds: int | None = None
    digest_at: time | None = None
    digest_count: int | None = None
    digest_key: str = ""
    series: str = ""
    series_ends_on: str = ""
    series_key: str = ""


PLAIN = tuple(one.name for one in fields(Draft) if one.name not in ("channels", "in_order"))
"""The fields that a form, a draft and a rule hold alike."""


def limit_reached(user: User) -> bool:
    """Whether this person has as many rules as one may have."""
    most: int = settings.MOST_RULES
    return Rule.objects.for_user(user).count() >= most


@transaction.atomic
def create(user: User, draft: Draft, rule_id: UUID | None = None) -> Rule:
    """Raises IntegrityError if `rule_id`, the id from a form, exists already."""
    rule = Rule(user=user, id=rule_id or uuid7())
    _apply(rule, draft)
    rule.save(force_insert=True)
    rule.channels.set(draft.channels)
    return rule


@transaction.atomic
def change(rule_id: UUID, draft: Draft, version: int) -> Rule:
    """Replace the rule by the draft. Raises `Conflict` if its version is not `version`, or it is deleted."""
    rule = _lock(rule_id)
    if rule.version != version or rule.deleted_at is not None:
        raise Conflict(rule)
    _apply(rule, draft)
    rule.channels.set(draft.channels)
    return _save(rule)


@transaction.atomic
def switch(rule_id: UUID, enabled: bool) -> Rule:
    """Switched off, it rings no more, and what it caused and is not sent yet is cancelled."""
    rule = _lock(rule_id)
    if rule.enabled == enabled:
        return rule
    rule.enabled = enabled
    if not enabled:
        withdraw([rule.id], Code.RULE_OFF)
    return _save(rule)


@transaction.atomic
def delete(rule_id: UUID) -> Rule:
    """Mark as deleted: its history stays, and `restore` undoes it. What is not sent yet is cancelled."""
    rule = _lock(rule_id)
    rule.deleted_at = Now()
    withdraw([rule.id], Code.RULE_DELETED)
    return _save(rule)


@transaction.atomic
def restore(rule_id: UUID) -> Rule:
    """Undo `delete`. What happened in between does not ring."""
    rule = _lock(rule_id)
    rule.deleted_at = None
    return _save(rule)


def _lock(rule_id: UUID) -> Rule:
    return Rule.objects.select_for_update(no_key=True).get(id=rule_id)


def _apply(rule: Rule, draft: Draft) -> None:
    for name in PLAIN:
        setattr(rule, name, getattr(draft, name))
    rule.channel_order = [channel.id for channel in draft.channels] if draft.in_order else []


def _save(rule: Rule) -> Rule:
    rule.version += 1
    rule.updated_at = Now()
    rule.save()
    rule.refresh_from_db()
    return rule
