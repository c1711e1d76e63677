"""Status pages: those of a person, and what strangers read."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from common.redis.request_limiter import by_address, limit_page
from common.texts import languages
from events.models import Run
from events.runs import incidents
from people.access.requests import PersonRequest, person_form, person_page, posted
from people.user_lock import with_user_lock
from schedules.firing.fire import read_clock
from watches.models import PublicIncident, StatusPage
from watches.status_pages import status
from watches.status_pages.forms import PublicIncidentForm, StatusPageForm

_CACHED = 15
"""Seconds for which what strangers read is the same."""


@person_page
def page_list(request: PersonRequest) -> HttpResponse:
    return render(request, "watches/status_pages.html", {"pages": StatusPage.objects.for_user(request.user)})


@person_form
@with_user_lock
def new(request: PersonRequest) -> HttpResponse:
    form = StatusPageForm(posted(request), request.user)
    if form.is_valid() and (page := form.save()):
        return redirect("watches:status-page", page.id)
    return render(request, "watches/status_page.html", {"form": form})


@person_form
def edit(request: PersonRequest, page_id: UUID) -> HttpResponse:
    page = StatusPage.objects.own(request.user, id=page_id)
    title, url, published = page.title, page.url, page.incidents.all()[: status.MOST_INCIDENTS]
    form = StatusPageForm(posted(request), request.user, page)
    if form.is_valid() and form.save():
        messages.success(request, _("“%(name)s” is saved.") % {"name": page.title})
        return redirect("watches:status-page", page.id)
    context = {"form": form, "page": page, "title": title, "url": url, "incidents": published}
    context["subscribers"] = page.subscribers.filter(confirmed_at__isnull=False).count()
    return render(request, "watches/status_page.html", context)


@person_form
def delete(request: PersonRequest, page_id: UUID) -> HttpResponse:
    page = StatusPage.objects.own(request.user, id=page_id)
    if request.method == "POST":
        status.delete(page)
        messages.success(request, _("“%(name)s” is deleted.") % {"name": page.title})
        return redirect("watches:status-pages")
    return render(request, "watches/status_page_delete.html", {"page": page})


@person_form
@with_user_lock
def publish(request: PersonRequest) -> HttpResponse:
    """A new incident on a page. `?run=` names one of Carillon's, whose title and beginning it takes over."""
    incident = PublicIncident()
    if run := Run.objects.for_user(request.user).written(request.GET.get("run", "")):
        incident.began_at, incident.title = run.created_at, incidents.title(run)[:120]
    if not StatusPage.objects.for_user(request.user).exists():
        messages.info(request, _("Create a status page first."))
        return redirect("watches:status-page-new")
    return _save(request, PublicIncidentForm(posted(request), request.user, incident, page=request.GET.get("page")))


@person_form
@with_user_lock
def edit_incident(request: PersonRequest, incident_id: UUID) -> HttpResponse:
    incident = get_object_or_404(PublicIncident.objects.select_related("page"), id=incident_id, page__user=request.user)
    if "delete" in request.POST:
        status.delete_incident(incident)
        messages.success(request, _("“%(name)s” is deleted.") % {"name": incident.title})
        return redirect("watches:status-page", incident.page_id)
    return _save(request, PublicIncidentForm(posted(request), request.user, incident))


def _save(request: PersonRequest, form: PublicIncidentForm) -> HttpResponse:
    if form.is_valid():
        incident = form.save()
        messages.success(request, _("“%(name)s” is published.") % {"name": incident.title})
        return redirect("watches:status-page", incident.page_id)
    return render(request, "watches/public_incident.html", {"form": form, "incident": form.instance})


@require_safe
def public(request: HttpRequest, address: str) -> HttpResponse:
    def write(page: StatusPage) -> str:
        return render_to_string("watches/public.html", status.read(page, read_clock().now))

    return _shown(request, address, "page", write, "text/html; charset=utf-8")


@require_safe
def feed(request: HttpRequest, address: str) -> HttpResponse:
    def write(page: StatusPage) -> str:
        return status.feed(page, read_clock().now)

    return _shown(request, address, "feed", write, "application/atom+xml; charset=utf-8")


def _shown(
    request: HttpRequest, address: str, part: str, write: Callable[[StatusPage], str], content_type: str
) -> HttpResponse:
    """The page or feed for strangers, in the language and zone of its owner. It is written once in 15 s for all."""
    slug = address.lower()

    def respond() -> HttpResponse:
        if (text := cache.get(key := status.cached(part, slug))) is None:
            if (page := StatusPage.objects.public(slug)) is None:
                return render(request, "404.html", status=404)
            with languages.override(page.user.language), timezone.override(page.user.zone):
                text = write(page)
            cache.set(key, text, _CACHED)
        return HttpResponse(text, content_type=content_type)

    return limit_page(by_address(request), respond)
