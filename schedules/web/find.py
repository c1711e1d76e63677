"""Find a page or a reminder by a part of its name, for the command palette."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from common.redis.request_limiter import limit_page
from people.access.acting import NOT_FOR_VIEWERS
from people.access.requests import PersonRequest, person_page
from schedules.models import Schedule

_SHOWN = 8

PAGES: tuple[tuple[str, str | Promise], ...] = (
    ("schedules:list", _("Reminders")),
    ("schedules:new", _("New reminder")),
    ("schedules:week", _("Week")),
    ("schedules:month", _("Calendar")),
    ("notifications:done", _("What is done")),
    ("notifications:inbox", _("Inbox")),
    ("notifications:channels", _("Channels")),
    ("notifications:channel-new", _("Add a channel")),
    ("notifications:boards", _("Boards")),
    ("notifications:history", _("History")),
    ("events:rules", _("Rules")),
    ("events:rule-new", _("New rule")),
    ("events:list", _("Events")),
    ("events:types", _("Types of events")),
    ("events:topics", _("Topics")),
    ("events:subscriptions", _("Subscriptions")),
    ("events:incidents", _("Incidents")),
    ("events:runs", _("Flows")),
    ("events:inbound-list", _("Inbound webhooks")),
    ("jobs:connections", _("Connections")),
    ("watches:list", _("Watches")),
    ("watches:status-pages", _("Status pages")),
    ("schedules:holidays", _("Holidays")),
    ("schedules:import", _("Import a calendar file")),
    ("schedules:feed-address", _("Calendar address")),
    ("people:teams", _("Teams")),
    ("people:settings", _("Settings")),
    ("people:activity", _("Recent activity")),
)
"""The pages by the names of their URLs, in the order of the navigation."""


@person_page
def find(request: PersonRequest) -> HttpResponse:
    """The pages and reminders for `?q=`, as a list of links; without it, all pages."""
    return limit_page(f"find:{request.user.pk}", lambda: _results(request))


def _results(request: PersonRequest) -> HttpResponse:
    typed = request.GET.get("q", "")[:200].replace("\0", "")
    words = typed.casefold().split()
    pages = [
        (reverse(view), name)
        for view, name in PAGES
        if all(word in str(name).casefold() for word in words)
        and (request.user.may_change or view not in NOT_FOR_VIEWERS)
    ]
    reminders = Schedule.objects.for_user(request.user).only("title")
    for word in words:
        reminders = reminders.filter(title__icontains=word)
    context = {
        "typed": typed,
        "pages": pages,
        "reminders": reminders.order_by("-updated_at", "-id")[:_SHOWN] if words else [],
    }
    return render(request, "schedules/_results.html", context)
