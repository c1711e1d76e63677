"""The address at which calendar programs read a person's reminders: its page, and the file."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe

from common.database import encryption
from common.redis import request_slots
from common.redis.request_limiter import by_address, limit_page, too_many_page
from common.texts import languages
from people.access.requests import PersonRequest, person_action, person_page
from schedules.agenda import feed
from schedules.firing import fire


@person_page
def page(request: PersonRequest) -> HttpResponse:
    own = feed.of(request.user)
    try:
        url = "" if own is None else feed.url(own)
    except encryption.Unreadable:
        url = ""
    context = {"feed": own, "url": url, "webcal": f"webcal:{url.partition(':')[2]}"}
    return render(request, "schedules/feed.html", context)


@person_action
def make(request: PersonRequest) -> HttpResponse:
    is_new = feed.of(request.user) is None
    feed.make(request.user)
    if is_new:
        messages.success(request, _("This is your calendar address."))
    else:
        messages.success(request, _("This is your new calendar address. The old one does not work any more."))
    return redirect("schedules:feed-address")


@person_action
def remove(request: PersonRequest) -> HttpResponse:
    feed.remove(request.user)
    messages.success(request, _("Your calendar address is removed. Calendars that use it are refused."))
    return redirect("schedules:feed-address")


@require_safe
@conditional_page
def read(request: HttpRequest, secret: str) -> HttpResponse:
    """The calendar of the person whose address it is. The address itself is the permission: no session."""
    if (owned := feed.find(secret)) is None:
        return limit_page(by_address(request), lambda: render(request, "404.html", status=404))
    user = owned.user

    def answer() -> HttpResponse:
        with languages.override(user.language):
            written = feed.written(user, fire.read_clock().now)
        headers = {"Cache-Control": "private", "Content-Disposition": 'inline; filename="carillon.ics"'}
        return HttpResponse(written, content_type="text/calendar; charset=utf-8", headers=headers)

    busy = request_slots.enter(request, request_slots.READ, user.pk, too_many_page)
    return busy or limit_page(f"calendar:{owned.id}", answer)
