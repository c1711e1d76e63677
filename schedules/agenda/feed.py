"""The secret address at which calendar programs read a person's reminders, and what they read there."""

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from operator import attrgetter
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from common.database import encryption
from common.database.encryption import hashed
from common.times import civil_time
from people.models import CalendarFeed, User
from people.teams import on_call
from people.user_lock import lock_user
from schedules.agenda import ical
from schedules.agenda.coming import BUDGET, coming
from schedules.agenda.entry import Days, Entry
from schedules.agenda.ical import Event
from schedules.agenda.sent import sent
from schedules.firing.holidays import Holidays

MOST = 1_000
"""Events in the file: those of the past, then the next ones."""
_PAST, _AHEAD = timedelta(days=30), timedelta(days=90)
_REFRESH = timedelta(hours=1)
_WEEK = timedelta(days=7)
# So long an event is, unless it stands for several times.
_LENGTH = timedelta(minutes=15)


def make(user: User) -> CalendarFeed:
    """Make the person's address, or replace it: the old one is not found any more."""
    with lock_user(user):
        CalendarFeed.objects.filter(user=user).delete()
        feed, token = CalendarFeed(user=user), secrets.token_urlsafe(30)
        feed.hashed, feed.sealed_secrets = hashed(token), encryption.seal_secrets({"token": token}, feed.id)
        feed.save(force_insert=True)
    return feed


def remove(user: User) -> None:
    CalendarFeed.objects.filter(user=user).delete()


def of(user: User) -> CalendarFeed | None:
    return CalendarFeed.objects.filter(user=user).first()


def find(token: str) -> CalendarFeed | None:
    """The feed whose secret part this is, with its user."""
    return CalendarFeed.objects.select_related("user").filter(hashed=hashed(token), user__is_active=True).first()


def url(feed: CalendarFeed) -> str:
    """The whole secret address. Raises `encryption.Unreadable`."""
    token = encryption.unseal_secrets(feed.sealed_secrets, feed.id)["token"]
    return f"{settings.BASE_URL}{reverse('schedules:feed', args=[token])}"


def written(user: User, now: datetime) -> str:
    """The file: what was sent in the last 30 days, and what comes in the next 90."""
    zone = user.zone
    today = civil_time.local(zone, now).date()
    past, _ = sent(user, Days(today - _PAST, today, zone), now, MOST)
    ahead = coming(user, Days(today, today + _AHEAD, zone), now, MOST, 5 * BUDGET).entries
    holidays = Holidays.of(user, now)
    fires = [one for one in ahead if not one.state and one.schedule and not holidays.of_slot(one.schedule, one.at)]
    entries = [*past[-MOST // 2 :], *sorted(fires, key=attrgetter("at"))]
    events = [_event(entry) for entry in entries[:MOST]]
    return ical.write("Carillon", [*events, *_on_call(user, Days(today - _WEEK, today + 4 * _WEEK, zone))], _REFRESH)


def _on_call(user: User, days: Days) -> Iterator[Event]:
    """Of a team, who is on call. It begins a week ago, so that the first one stays as it is for a while."""
    page = settings.BASE_URL + reverse("people:team-on-call", args=[user.pk])
    for one in on_call.shifts(user, days.begin, days.end) if user.is_team else ():
        uid = f"on-call-{user.pk}-{one.begins:%Y%m%dT%H%M%S}@{urlsplit(settings.BASE_URL).hostname}"
        title = _("On call: %(name)s") % {"name": one.name or _("nobody")}
        yield Event(uid, one.begins, one.ends - one.begins, one.begins, title, page)


def _event(entry: Entry) -> Event:
    title, length = entry.title, max(_LENGTH, entry.last - entry.at)
    if entry.has_more:
        title = _("%(title)s (more than %(count)s times)") % {"title": title, "count": entry.count}
    elif entry.count > 1:
        title = _("%(title)s (%(count)s times)") % {"title": title, "count": entry.count}
    if entry.notification_id is None:
        page = reverse("schedules:detail", args=[entry.schedule_id])
    else:
        page = reverse("notifications:notification", args=[entry.notification_id])
    uid = f"{entry.schedule_id}-{entry.at:%Y%m%dT%H%M%S}@{urlsplit(settings.BASE_URL).hostname}"
    # Not the present: an unchanged file must stay the same.
    changed = entry.last if entry.schedule is None else entry.schedule.updated_at
    return Event(uid, entry.at, length, changed, title, settings.BASE_URL + page)
