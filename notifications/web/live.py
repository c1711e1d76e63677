"""Unread messages on all pages, polls of an open page, and the service worker that shows pushed messages."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_safe

from notifications import providers
from notifications.deliveries.inbox_state import states, unread_of
from people.access.requests import PersonRequest, person_page


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread`: see `unread_of`; read only if a page shows it."""
    if (user := getattr(request, "user", None)) is None or not user.is_authenticated:
        return {"unread": ""}
    return {"unread": SimpleLazyObject(lambda: unread_of(user))}


def mail_notice(request: HttpRequest) -> dict[str, Any]:
    """`mail_notice`: where to find emails that are saved to files, without a mail server."""
    return {"mail_notice": SimpleLazyObject(providers.get("email").notice)}


@person_page
def state(request: PersonRequest) -> HttpResponse:
    """See `states`; with the account, for tabs that show another one."""
    return JsonResponse(states([request.user.pk])[request.user.pk] | {"account": request.user.pk})


@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the worker keeps, in the reader's language, for when there is no network."""
    return render(request, "offline.html")


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """The script, at the root: a worker controls no page above its own address.

    The names of the files that it keeps change with their content, and so does the script.
    """
    return HttpResponse(render_to_string("service_worker.js"), content_type="text/javascript; charset=utf-8")
