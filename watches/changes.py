"""A person's changes of a watch: create, change, pause, resume, delete and restore it. Each locks the row."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from common.forms.edit_form import VersionConflict, save_next_version
from common.forms.not_possible import LimitReached
from events.flows.incident import RESOLVED
from events.intake import ledger
from events.intake.ledger import Happened
from events.pure import types
from events.pure.envelope import Envelope
from jobs.batches.withdrawal import withdraw
from notifications.models import Channel
from notifications.reasons import DeliveryCode
from people.models import User
from schedules.firing.fire import read_clock
from watches import pings, timing
from watches.models import PingKey, Watch

_NOT_TYPED = {"user", "state", "stays_paused", "version"}
TYPED = [field.name for field in Watch._meta.concrete_fields if field.editable and field.name not in _NOT_TYPED]
"""The fields that a person decides, beside the channels."""
_TIMING = {*Watch.TIMING, "period", "grace"}
"""Those that say when a ping is expected."""


def limit_reached() -> str:
    return _("You have %(most)s watches, the limit. Delete one first.") % {"most": settings.MOST_WATCHES}


def require_room(user: User) -> None:
    """Raises LimitReached."""
    if Watch.objects.for_user(user).count() >= settings.MOST_WATCHES:
        raise LimitReached(limit_reached())


def create(watch: Watch, channels: Sequence[Channel]) -> Watch:
    """Insert a watch that is not saved yet. It expects nothing before its first ping. Raises IntegrityError if its id
    exists already."""
    create_all([(watch, channels)])
    watch.refresh_from_db()
    return watch


@transaction.atomic
def create_all(watches: Sequence[tuple[Watch, Sequence[Channel]]]) -> None:
    """As `create`, for many watches of one person, each with its channels."""
    now, link = read_clock().now, Watch.channels.through
    for watch, _channels in watches:
        timing.set_slots(watch, now)
    Watch.objects.bulk_create(watch for watch, _channels in watches)
    if with_slug := next((watch for watch, _channels in watches if watch.slug), None):
        _make_key(with_slug)
    link.objects.bulk_create(link(watch=watch, channel=one) for watch, channels in watches for one in channels)


@transaction.atomic
def change(wanted: Watch, channels: Sequence[Channel]) -> Watch:
    """Give the stored watch the fields of `wanted`, and these channels; its next ping is expected as they say.

    If that changes nothing, it stays at its version. Raises VersionConflict if its version is not that of `wanted`, or
    it is deleted.
    """
    watch = _lock(wanted.id)
    if (watch.version, watch.deleted_at) != (wanted.version, None):
        raise VersionConflict(watch)
    changed = {name for name in TYPED if getattr(watch, name) != getattr(wanted, name)}
    if not changed and set(watch.ordered_channels()) == set(channels):
        return watch
    if "opens_incident" in changed:
        _end_incident(watch)
    for name in changed:
        setattr(watch, name, getattr(wanted, name))
    watch.channels.set(channels)
    _make_key(watch)
    if changed & _TIMING:
        _expect(watch, watch.counted_from or watch.last_ping_at or watch.state_since)
    return save_next_version(watch)


@transaction.atomic
def pause(watch_id: UUID, stays_paused: bool) -> Watch:
    """Expect nothing, until it is resumed; or until its next ping, unless it stays paused then.

    What is not sent yet is cancelled, and nothing is repeated.
    """
    watch = _lock(watch_id)
    _set_state(watch, Watch.State.PAUSED)
    watch.stays_paused = stays_paused
    withdraw([watch.id], DeliveryCode.WATCH_PAUSED)
    return save_next_version(watch)


@transaction.atomic
def resume(watch_id: UUID) -> Watch:
    """Expect the next ping as if one had come now; if none has ever come, its first one."""
    watch = _lock(watch_id)
    if watch.state == Watch.State.PAUSED:
        watch.stays_paused = False
        _set_state(watch, Watch.State.UP if watch.last_ping_at else Watch.State.NEW)
        _expect(watch, read_clock().now)
        watch = save_next_version(watch)
    return watch


@transaction.atomic
def delete(watch_id: UUID) -> Watch:
    """Mark as deleted: its address is gone, and `restore` undoes it. What is not sent yet is cancelled.

    Its runs, which cannot report their end any more, hold no lock, and its incident is over.
    """
    watch = _lock(watch_id)
    pings.release_locks(watch)
    _end_incident(watch)
    watch.deleted_at, watch.deadline = Now(), None
    withdraw([watch.id], DeliveryCode.WATCH_DELETED)
    return save_next_version(watch)


@transaction.atomic
def restore(watch_id: UUID) -> Watch:
    """Undo `delete`; the next ping is expected as if one had come now. It has no slug if another one took it."""
    watch = _lock(watch_id)
    watch.deleted_at = None
    if slug_is_taken(watch):
        watch.slug = ""
    _expect(watch, read_clock().now)
    return save_next_version(watch)


def slug_is_taken(watch: Watch) -> bool:
    """Whether another watch of its person has its slug."""
    others = Watch.objects.for_user(watch.user).exclude(id=watch.id)
    return watch.slug != "" and others.filter(slug=watch.slug).exists()


def _make_key(watch: Watch) -> None:
    if watch.slug:
        PingKey.objects.get_or_create(user=watch.user)


def _end_incident(watch: Watch) -> None:
    """Of a watch whose recovery will not end it: it would be sent for ever."""
    if watch.opens_incident and watch.owes_recovery:
        data, key = {"key": str(watch.id), "title": watch.name}, str(uuid5(watch.id, f"alert {watch.version}"))
        over = Envelope(type=RESOLVED, data=data, source=types.SOURCE, key=key, correlation_id=str(watch.id))
        ledger.record_all([Happened(watch.user_id, over)])


def _expect(watch: Watch, since: datetime) -> None:
    deadline = timing.deadline_after(watch, since)
    watch.counted_from = since
    watch.deadline = deadline if watch.state == Watch.State.UP else None


def _set_state(watch: Watch, state: Watch.State) -> None:
    watch.state, watch.deadline = state, None
    watch.state_since = Now()


def _lock(watch_id: UUID) -> Watch:
    return Watch.objects.select_for_update(no_key=True).get(id=watch_id)
