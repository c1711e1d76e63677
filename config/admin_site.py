"""The admin's side bar, in the order in which an operator works, and its style sheet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

# (title, model, icon)
_PLACES = [
    ("Dead letters", "notifications.deadletter", "unsubscribe"),
    ("Interventions", "notifications.intervention", "history_edu"),
    ("Deliveries", "notifications.delivery", "send"),
    ("Notifications", "notifications.notification", "notifications"),
    ("Occurrences", "schedules.occurrence", "event_available"),
    ("Schedules", "schedules.schedule", "calendar_month"),
    ("Channels", "notifications.channel", "hub"),
    ("People", "people.user", "person"),
    ("Periodic tasks", "django_celery_beat.periodictask", "timer"),
    ("Task results", "django_celery_results.taskresult", "task_alt"),
]
# Pages that come before their model's list.
_FIRST = {"notifications.deadletter": "admin:notifications_deadletter_causes"}
_BEHIND = [
    ("E-mail addresses", "account.emailaddress", "alternate_email"),
    ("Groups", "auth.group", "group"),
]


def style(request: HttpRequest) -> str:
    return static("carillon-admin.css")


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    return [
        {"items": [*(_item(*place) for place in _PLACES), _outages()]},
        {"separator": True, "items": [_item(*place) for place in _BEHIND]},
    ]


def _item(title: str, model: str, icon: str) -> dict[str, Any]:
    return {
        "title": title,
        "icon": icon,
        "link": reverse(_FIRST.get(model, f"admin:{model.replace('.', '_')}_changelist")),
        "permission": _may_see(model),
    }


def _outages() -> dict[str, Any]:
    return {
        "title": "Outages",
        "icon": "emergency_home",
        "link": reverse("outages"),
        "permission": lambda request: request.user.has_perm("schedules.change_schedule"),
    }


def _may_see(model: str) -> Callable[[HttpRequest], bool]:
    app, name = model.split(".")
    return lambda request: any(request.user.has_perm(f"{app}.{verb}_{name}") for verb in ("view", "change"))
