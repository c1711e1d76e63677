"""The public view of a status page: states and uptime by the names of watches, and incidents in public words."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.core.cache import cache
from django.db import transaction
from django.db.models import Q
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import linebreaks
from django.utils.translation import gettext as _

from common.database.postgres import change, column, delete as delete_row
from common.texts import xml_text
from events.models import Event
from events.pure.types import SOURCE
from watches import notices
from watches.badges import worst
from watches.models import DailyDowntime, PublicIncident, StatusPage, Watch
from watches.status_pages import subscribers

DAYS = 90
MOST_PAGES = 20
"""Of a person."""
MOST_WATCHES, MOST_INCIDENTS = 50, 50
"""On a page."""
NEW_A_DAY = 50
"""Incidents of a page, since each mails its subscribers."""
_DAY = 86_400
_LONG = 0.05
"""The share of a day from which a downtime is long."""
_IN_FEED, _EXAMINED = 50, 200
_NEWS = (notices.MISSED, notices.FAILED, notices.RECOVERED)


class Day(NamedTuple):
    """A day of UTC. `seconds`: so long the watch was down; None for a day before the watch."""

    day: date
    seconds: float | None

    @property
    def level(self) -> str:
        if self.seconds is None:
            return "none"
        return "long" if self.seconds > _LONG * _DAY else "short" if self.seconds > 0 else "up"


class Shown(NamedTuple):
    """A watch on the page. `uptime` is in percent of `span`, rounded down."""

    name: str
    state: str
    days: list[Day]
    uptime: float
    span: timedelta

    @property
    def down_days(self) -> list[tuple[date, timedelta]]:
        return [(one.day, timedelta(seconds=max(1, round(one.seconds)))) for one in self.days[::-1] if one.seconds]


def cached(part: str, slug: str) -> str:
    """The key of what strangers read: the "page" or its "feed"."""
    return f"status:{part}:{slug}"


def forget(*slugs: str) -> None:
    """Drop the cached pages and feeds: also those that somebody writes before this transaction is committed."""
    keys = [cached(part, slug) for part in ("page", "feed") for slug in slugs]
    cache.delete_many(keys)
    transaction.on_commit(lambda: cache.delete_many(keys))


_DELETE_MAILS = """
WITH attempts AS (DELETE FROM watches_statusmailattempt WHERE mail_id = ANY(%(ids)s::uuid[]))
DELETE FROM watches_statusmail WHERE id = ANY(%(ids)s::uuid[])
"""


def delete(page: StatusPage) -> None:
    """With its mails, of which it may have many, in chunks: Django would load them all."""
    while _delete_mails(subscriber__page=page):
        pass
    delete_row(page)
    forget(page.slug)


@transaction.atomic
def delete_incident(incident: PublicIncident) -> None:
    list(PublicIncident.objects.filter(id=incident.id).select_for_update())  # another tab may be publishing more of it
    while _delete_mails(incident=incident):
        pass
    incident.delete()
    forget(incident.page.slug)


@transaction.atomic
def _delete_mails(**of: Any) -> bool:
    """Whether there were any; at most as many as `lock_mails` locks."""
    return change(_DELETE_MAILS, {"ids": column(subscribers.lock_mails(**of))}) > 0


def watches_of(page: StatusPage) -> list[Watch]:
    return list(page.watches.filter(deleted_at=None, user=page.user_id).order_by("name", "id")[:MOST_WATCHES])


def incidents_of(page: StatusPage, now: datetime) -> list[PublicIncident]:
    """Those that are open, and those of the last days; newest first."""
    recent = Q(ended_at=None) | Q(began_at__gt=now - timedelta(days=DAYS))
    return list(page.incidents.filter(recent).order_by("-began_at")[:MOST_INCIDENTS])


def read(page: StatusPage, now: datetime) -> dict[str, Any]:
    watches = watches_of(page)
    first = now.astimezone(UTC).date() - timedelta(days=DAYS - 1)
    downtimes: dict[UUID, dict[date, float]] = defaultdict(dict)
    for one in DailyDowntime.objects.filter(watch__in=[watch.id for watch in watches], day__gte=first):
        downtimes[one.watch_id][one.day] = one.seconds
    shown = [_shown(watch, downtimes[watch.id], first, now) for watch in watches]
    incidents = incidents_of(page, now)
    return {
        "page": page,
        "watches": shown,
        "state": worst([one.state for one in shown]),
        "open": [one for one in incidents if one.ended_at is None],
        "past": [one for one in incidents if one.ended_at is not None],
        "now": now,
        "days": DAYS,
    }


def _shown(watch: Watch, downtimes: Mapping[date, float], first: date, now: datetime) -> Shown:
    days = []
    for number in range(DAYS):
        day = first + timedelta(days=number)
        begins = datetime(day.year, day.month, day.day, tzinfo=UTC)
        ends = min(begins + timedelta(days=1), now)
        seconds = downtimes.get(day, 0.0)
        if watch.state == Watch.State.DOWN:  # this downtime is recorded at its end
            seconds += max(0.0, (ends - max(begins, watch.state_since)).total_seconds())
        days.append(Day(day, None if watch.created_at >= ends else min(seconds, _DAY)))
    since = max(watch.created_at, datetime(first.year, first.month, first.day, tzinfo=UTC))
    down = sum(day.seconds or 0 for day in days) / max(1.0, (now - since).total_seconds())
    uptime = int(max(0.0, 1 - down) * 10_000) / 100
    return Shown(watch.name, watch.shown_state(now), days, uptime, min(now - watch.created_at, timedelta(days=DAYS)))


def feed(page: StatusPage, now: datetime) -> str:
    """Atom: its incidents, and when its watches went down and worked again, as far as the ledger keeps that."""
    clean = partial(xml_text.FORBIDDEN.sub, "")
    atom = Atom1Feed(
        clean(page.title), page.url, clean(page.intro), feed_url=f"{page.url}feed", feed_guid=f"urn:uuid:{page.id}"
    )
    entries = [*_changes_of_watches(page)]
    for one in incidents_of(page, now):
        title = _("Over: %(title)s") % {"title": one.title} if one.ended_at else one.title
        entries.append((one.updated_at, one.id, title, one.text))
    for at, key, title, text in sorted(entries, reverse=True)[:_IN_FEED]:
        summary = linebreaks(clean(text), autoescape=True) if text else ""
        atom.add_item(clean(title), page.url, summary, unique_id=f"urn:uuid:{key}", updateddate=at, pubdate=at)
    return atom.writeString("utf-8")


def _changes_of_watches(page: StatusPage) -> Iterator[tuple[datetime, UUID, str, str]]:
    """For each, when, its id, its title and no text."""
    watches = {watch.id: watch.name for watch in watches_of(page)}
    mine = Event.objects.filter(user=page.user_id).order_by("-id")
    news = [mine.filter(type=one)[:_EXAMINED] for one in _NEWS]  # each by its index
    for event in news[0].union(*news[1:], all=True):
        if event.source == SOURCE and event.correlation_id in watches:
            text = _("%(name)s works again") if event.type == notices.RECOVERED else _("%(name)s is down")
            yield event.occurred_at, event.id, text % {"name": watches[event.correlation_id]}, ""
