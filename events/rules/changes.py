"""A person's changes of a rule: create, change, switch on and off, delete and restore it.

Each function locks the row. An event that is being handled at that moment may still be sent by the rule as it was.
"""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from common.forms.edit_form import VersionConflict, save_next_version
from common.forms.not_possible import LimitReached
from events.models import Rule
from events.rules import words
from jobs.batches.withdrawal import withdraw
from notifications.models import Channel
from notifications.reasons import DeliveryCode
from people.models import User

_NOT_TYPED = {"id", "user", "channel_order", "enabled", "version"}
PLAIN = tuple(field.name for field in Rule._meta.concrete_fields if field.editable and field.name not in _NOT_TYPED)
"""The fields that a form and a rule hold alike."""


def require_room(user: User) -> None:
    """Raises LimitReached."""
    if Rule.objects.for_user(user).count() >= settings.MOST_RULES:
        raise LimitReached(words.limit_reached())


@transaction.atomic
def create(rule: Rule, channels: Sequence[Channel]) -> Rule:
    """Insert a rule that is not saved yet. Raises IntegrityError if its id, from a form, exists already."""
    rule.save(force_insert=True)
    rule.channels.set(channels)
    return rule


@transaction.atomic
def change(wanted: Rule, channels: Sequence[Channel]) -> Rule:
    """Give the stored rule the fields of `wanted`, and these channels.

    Raises `VersionConflict` if its version is not that of `wanted`, or it is deleted.
    """
    rule = _lock(wanted.id)
    if rule.version != wanted.version or rule.deleted_at is not None:
        raise VersionConflict(rule)
    new = {name: getattr(wanted, name) for name in (*PLAIN, "channel_order")}
    old = {name: getattr(rule, name) for name in new}
    if old == new and {one.id for one in rule.ordered_channels()} == {one.id for one in channels}:
        return rule
    for name, value in new.items():
        setattr(rule, name, value)
    rule.channels.set(channels)
    return save_next_version(rule)


@transaction.atomic
def switch(rule_id: UUID, enabled: bool) -> Rule:
    """Switched off, it does not fire any more, and unsent messages of it are cancelled."""
    rule = _lock(rule_id)
    if rule.enabled == enabled:
        return rule
    rule.enabled = enabled
    if not enabled:
        withdraw([rule.id], DeliveryCode.RULE_OFF)
    return save_next_version(rule)


@transaction.atomic
def delete(rule_id: UUID) -> Rule:
    """Mark as deleted: its history stays, and `restore` undoes it. What is not sent yet is cancelled."""
    rule = _lock(rule_id)
    rule.deleted_at = Now()
    withdraw([rule.id], DeliveryCode.RULE_DELETED)
    return save_next_version(rule)


@transaction.atomic
def restore(rule_id: UUID) -> Rule:
    """Undo `delete`. It does not fire for what happened in between."""
    rule = _lock(rule_id)
    rule.deleted_at = None
    return save_next_version(rule)


def _lock(rule_id: UUID) -> Rule:
    return Rule.objects.select_for_update(no_key=True).get(id=rule_id)
