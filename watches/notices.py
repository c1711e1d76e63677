"""Record notices of watches: an event, and a message or an alert, in the transaction that claims the cause.

Beat calls this at each tick. Any number of beats may at once: each takes rows that no other one has locked.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext as _

from common import zones
from common.database import fault_points
from common.database.postgres import blames_no_row, columns, execute, instance
from common.texts import languages
from common.times import dates
from common.uuid7 import of_slot
from events.flows.incident import Incident
from events.intake import ledger
from events.intake.ledger import Happened
from events.pure import types
from events.pure.envelope import Envelope
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from notifications.models import Notification, sort_channels
from people import quiet
from watches import timing
from watches.models import Ping, Watch
from work.broker.wakes import publish_after_commit
from work.models.hold import OFF

log = logging.getLogger(__name__)

BATCH = 500
_MOST_BATCHES = 4
MISSED, FAILED, RECOVERED, SLOW = "watch.missed", "watch.failed", "watch.recovered", "watch.slow"

# A ping that arrived in time may still be on its way to the database.
_PASSED = "< now() - interval '1 second'"
_POLL = f"""
SELECT {OFF} AND (EXISTS (SELECT FROM watches_watch WHERE deadline {_PASSED})
               OR EXISTS (SELECT FROM watches_ping WHERE tells <> '')
               OR EXISTS (SELECT FROM watches_ping WHERE slow_at {_PASSED})) AS is_due
"""  # noqa: S608 - constants only
_OF_WATCH = f"""
    SELECT {columns(Watch, "w")}, u.is_active, u.language, u.time_zone, {quiet.columns("u")} AS quiet, now() AS now,
           EXISTS (SELECT FROM events_flowsettings f
                    WHERE f.user_id = w.user_id AND f.flow = '{Incident.name}' AND f.enabled) AS has_incidents,
           ARRAY(SELECT ARRAY[c.id::text, c.provider] FROM watches_watch_channels l JOIN notifications_channel c
                     ON c.id = l.channel_id WHERE l.watch_id = w.id AND c.removed_at IS NULL) AS sends_to"""  # noqa: S608 - constants only
_MISSED = f"""
{_OF_WATCH}
      FROM watches_watch w JOIN people_user u ON u.id = w.user_id
     WHERE w.deadline {_PASSED} AND {OFF} ORDER BY w.deadline LIMIT {BATCH} FOR NO KEY UPDATE OF w SKIP LOCKED
"""
_OF_PINGS = f"""
{_OF_WATCH}, p.id AS ping_id, p.tells, p.at, p.missed_at, p.slow_at, p.is_open, p.exit_code, p.milliseconds
      FROM watches_ping p JOIN watches_watch w ON w.id = p.watch_id JOIN people_user u ON u.id = w.user_id
     WHERE {{due}} AND {OFF} ORDER BY {{order}} LIMIT {BATCH} FOR NO KEY UPDATE OF w, p SKIP LOCKED
"""
# One of a watch at a time: the one before may be locked, and their ids come from processes whose clocks differ.
_FIRST = """NOT EXISTS (SELECT FROM watches_ping e
                        WHERE e.watch_id = p.watch_id AND e.tells <> '' AND e.number < p.number)"""
_BY_PING = _OF_PINGS.format(due=f"p.tells <> '' AND {_FIRST}", order="p.id")
_SLOW = _OF_PINGS.format(due=f"p.slow_at {_PASSED}", order="p.slow_at")


class Sign(NamedTuple):
    """A change of a watch's state. `row`: as `_OF_WATCH` selects it, also of a ping where one caused it."""

    type: str
    watch: Watch
    at: datetime
    row: Any
    exit_code: int | None = None
    seconds: float | None = None
    lock: str = ""
    """The lock of a run that did not end while it had the lock."""

    @property
    def cause(self) -> UUID:
        """The same however often it is found: the key of its event, and the batch of its message."""
        return of_slot(self.at, uuid5(self.watch.id if self.type == MISSED else self.row.ping_id, self.type))


def record_due() -> int:
    """Record what is due. Returns how many events were recorded."""
    count = 0
    for _batch in range(_MOST_BATCHES):
        if not execute(_POLL, {}).fetchone().is_due:
            break
        # At its first use, a process loads all pages for it. That takes seconds, in which pings must not wait for us.
        reverse("watches:list")
        count += sum(_record_batch(statement) for statement in (_BY_PING, _MISSED, _SLOW))
    return count


def _record_batch(statement: str, only: UUID | None = None) -> int:
    """One batch, as `statement` claims it; alone, row by row, where that fails."""
    try:
        with transaction.atomic():
            rows = execute(statement, {}).fetchall()
            if only is not None:
                rows = [row for row in rows if _key(row) == only]
            count = _record(statement, rows)
            fault_points.reach("recorded")
            return count
    except Exception as error:
        if blames_no_row(error):
            raise
        if only is not None:  # its notice is dropped, so that it holds up no other
            log.error("The notice of a watch or ping, %s, cannot be recorded: %s", only, type(error).__name__)
            _settle(statement, [only])
            return 0
        log.warning("A batch of watches failed (%s): recording them one by one", type(error).__name__)
    with transaction.atomic():
        keys = [_key(row) for row in execute(statement, {}).fetchall()]
    return sum(_record_batch(statement, only=key) for key in keys)


def _key(row: Any) -> UUID:
    return row.ping_id if hasattr(row, "ping_id") else row.w_id


def _settle(statement: str, keys: Iterable[UUID]) -> None:
    if statement == _MISSED:
        down = {"state": Watch.State.DOWN, "state_since": F("deadline"), "deadline": None, "owes_recovery": True}
        Watch.objects.filter(id__in=keys).update(**down)
    else:
        Ping.objects.filter(id__in=keys).update(**{"tells": ""} if statement == _BY_PING else {"slow_at": None})


def _record(statement: str, rows: Sequence[Any]) -> int:
    if not rows:
        return 0
    signs, moved = _read(statement, rows)
    events: list[Happened] = []
    messages: list[NewNotification] = []
    for sign in signs:
        with languages.override(sign.row.language):
            message = _text(sign)
            events += _events(sign, message)
            # While incidents are off, nothing else would notify.
            if not (sign.watch.opens_incident and sign.row.has_incidents and sign.type != SLOW):
                messages += _messages(sign, message)
    ledger.record_all(events)
    publish_after_commit(outbox.record(messages))
    _settle(statement, [key for row in rows if (key := _key(row)) not in moved])
    return len(signs)


def _read(statement: str, rows: Sequence[Any]) -> tuple[list[Sign], set[UUID]]:
    """The signs of the rows, and the watches that miss nothing, for new zone data has moved their deadline."""
    moved: set[UUID] = set()
    signs: list[Sign] = []
    for row in rows:
        watch = instance(Watch, row)
        if statement == _MISSED and (deadline := timing.moved_deadline(watch)) != watch.deadline:
            Watch.objects.filter(id=watch.id).update(deadline=deadline)
            moved.add(watch.id)
        elif row.is_active and watch.deleted_at is None:
            signs += _signs(statement, watch, row)
    return signs, moved


def _signs(statement: str, watch: Watch, row: Any) -> Iterator[Sign]:
    if statement == _MISSED:
        assert watch.deadline is not None  # noqa: S101 - as it was selected
        yield Sign(MISSED, watch, watch.deadline, row)
    elif statement == _SLOW:
        if watch.state == Watch.State.PAUSED:
            return
        yield Sign(SLOW, watch, row.slow_at, row, lock=watch.lock if row.is_open else "")
    else:
        if row.missed_at is not None:
            yield Sign(MISSED, watch, row.missed_at, row)
        seconds = None if row.milliseconds is None else row.milliseconds / 1000
        yield Sign(f"watch.{row.tells}", watch, row.at, row, row.exit_code, seconds)


def _events(sign: Sign, message: text.Text) -> Iterator[Happened]:
    watch, chain = sign.watch, str(sign.watch.id)

    def happened(type: str, data: Mapping[str, Any], key: UUID) -> Happened:
        envelope = Envelope(
            type=type, data=dict(data), source=types.SOURCE, key=str(key), occurred_at=sign.at, correlation_id=chain
        )
        return Happened(watch.user_id, envelope)

    at = dates.rfc3339(sign.at)
    data = {"watch_id": chain, "name": watch.name, "tags": watch.tags, "at": at}
    yield happened(
        sign.type, data | {"exit_code": sign.exit_code, "seconds": sign.seconds, "lock": sign.lock}, sign.cause
    )
    if watch.opens_incident and sign.type != SLOW:
        alert = {"key": chain, "title": message.subject, "summary": message.body, "url": page(watch)}
        if sign.type == RECOVERED:
            yield happened("alert.resolved", alert | {"ends_at": at}, uuid5(sign.cause, "alert"))
        else:
            yield happened("alert.raised", alert | {"starts_at": at}, uuid5(sign.cause, "alert"))


def _messages(sign: Sign, message: text.Text) -> Iterator[NewNotification]:
    watch, row = sign.watch, sign.row
    channels = [(UUID(key), provider) for key, provider in row.sends_to]
    if not channels:
        return
    yield NewNotification(
        user_id=watch.user_id,
        channels=sort_channels(watch.channel_order, channels, lambda channel: channel[0]),
        subject=message.subject,
        body=f"{text.literal(message.body)}\n\n{page(watch)}".strip(),
        origin=Notification.Origin.EVENT,
        origin_id=watch.id,
        batch_id=sign.cause,
        slot=sign.at,
        correlation_id=str(watch.id),
        urgent=watch.urgent,
        quiet_hours=None if watch.urgent else quiet.wait(row.now, quiet.read(row.quiet)),
        **outbox.order_of(watch),
        **({} if sign.type == RECOVERED else outbox.nag_of(watch)),
    )


def page(watch: Watch) -> str:
    return f"{settings.BASE_URL}{reverse('watches:detail', args=[watch.id])}"


def _text(sign: Sign) -> text.Text:
    """In the active language, with the times of the person's clock."""
    watch, name = sign.watch, {"name": sign.watch.name, "lock": sign.lock}
    if sign.type == MISSED:
        expected = sign.at - timedelta(seconds=watch.grace)
        subject, lines = _("%(name)s did not report"), [_("Expected: %(at)s") % {"at": _time(sign.row, expected)}]
        if watch.last_ping_at is not None and watch.last_ping_at < sign.at:
            lines.append(_("Last ping: %(at)s") % {"at": _time(sign.row, watch.last_ping_at)})
    elif sign.type == FAILED:
        subject, lines = _("%(name)s failed"), []
        if sign.exit_code is not None:
            lines.append(_("Exit code: %(code)s") % {"code": sign.exit_code})
    elif sign.type == RECOVERED:
        subject, lines = _("%(name)s works again"), []
    else:
        longest = timing.length(watch.longest_run)
        subject = _("%(name)s died holding the lock “%(lock)s”") if sign.lock else _("%(name)s takes too long")
        lines = [_("It may take %(longest)s.") % {"longest": longest}]
    if sign.seconds is not None:
        lines.append(_("Duration: %(length)s") % {"length": timing.length(sign.seconds)})
    if sign.type != RECOVERED:
        lines += ["", watch.description]
    return text.Text(
        text.fit(" ".join((subject % name).split()), text.MAX_SUBJECT).text,
        text.fit("\n".join(lines).strip(), text.MAX_BODY - 200).text,
    )


def _time(row: Any, instant: datetime) -> str:
    return dates.exact(instant.astimezone(zones.read(row.time_zone)))
