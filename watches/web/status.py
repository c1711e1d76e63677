"""Status pages: those of a person with their subscribers, and what strangers read and subscribe to."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.admin.base import as_uuid
from common.forms.not_possible import shown_in
from common.redis.request_limiter import by_address, limit_page
from common.texts import languages
from events.models import Run
from events.runs import incidents
from notifications.messages.links import SUBSCRIPTION
from notifications.providers.email import EmailForm
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, made_once, person_form, person_page, posted
from people.user_lock import with_user_lock
from schedules.firing.fire import read_clock
from watches.models import PublicIncident, StatusPage, Subscriber
from watches.status_pages import status, subscribers
from watches.status_pages.forms import PublicIncidentForm, StatusPageForm

_CACHED = 15
"""Seconds for which what strangers read is the same."""


@person_page
def page_list(request: PersonRequest) -> HttpResponse:
    return render(request, "watches/status_pages.html", {"pages": StatusPage.objects.for_user(request.user)})


@person_form
@with_user_lock
@made_once(lambda request: redirect("watches:status-page", StatusPage.objects.own(request.user, id=request.made_as).id))
def new(request: PersonRequest) -> HttpResponse:
    form = StatusPageForm(posted(request), request.user)
    form.instance.id = request.made_as
    if form.is_valid() and (page := form.save()):
        messages.success(request, _("“%(name)s” is created.") % {"name": page.title})
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
    def write(page: StatusPage, now: datetime) -> str:
        return render_to_string("watches/public.html", status.read(page, now))

    return _shown(request, address, "page", write, "text/html; charset=utf-8")


@require_safe
def feed(request: HttpRequest, address: str) -> HttpResponse:
    return _shown(request, address, "feed", status.feed, "application/atom+xml; charset=utf-8")


def _shown(
    request: HttpRequest, address: str, part: str, write: Callable[[StatusPage, datetime], str], content_type: str
) -> HttpResponse:
    """The page or feed for strangers, in the language and zone of its owner. It is written once in 15 s for all."""
    slug = address.lower()

    def respond() -> HttpResponse:
        if (text := cache.get(key := status.cached(part, slug))) is None:
            if (page := StatusPage.objects.public(slug)) is None:
                return render(request, "404.html", status=404)
            with languages.override(page.user.language), timezone.override(page.user.zone):
                text = write(page, read_clock().now)
            cache.set(key, text, _CACHED)
        return HttpResponse(text, content_type=content_type)

    return limit_page(by_address(request), respond)


_ROWS = 100
_ACTS = {"confirm": subscribers.confirm, "stop": subscribers.stop, "allow": subscribers.allow}


@never_cache
def subscribe(request: HttpRequest, address: str) -> HttpResponse:
    """The answer is the same whether or not the address is subscribed."""

    def respond() -> HttpResponse:
        if (page := StatusPage.objects.public(address.lower())) is None:
            return render(request, "404.html", status=404)
        with languages.override(page.user.language):
            form, is_sent = EmailForm(posted(request)), False
            if form.is_valid():
                with shown_in(form):
                    subscribers.subscribe(page, form.cleaned_data["address"], by_address(request))
                    is_sent = True
            context = {"page": page, "form": form, "is_sent": is_sent}
            return render(request, "watches/subscribe.html", context, status=422 if form.errors else 200)

    return limit_page(by_address(request), respond)


@signed_link_view(SUBSCRIPTION)
def by_link(request: HttpRequest, subscriber_id: UUID) -> HttpResponse:
    """The link in each mail."""
    if "List-Unsubscribe" in request.POST:
        subscribers.stop(subscriber_id)
    elif act := _ACTS.get(request.POST.get("act", "")):
        act(subscriber_id)
        return redirect(request.path)
    subscriber = Subscriber.objects.select_related("page").filter(id=subscriber_id).first()
    return render(request, "watches/subscription.html", {"one": subscriber, "state": _state(subscriber)})


def _state(subscriber: Subscriber | None) -> str:
    if subscriber is None:
        return "gone"
    if subscriber.confirmed_at is not None:
        return "subscribed"
    if subscriber.expires_at is None:
        return "refused"
    return "unconfirmed" if subscriber.expires_at > timezone.now() else "expired"


@person_form
def subscriber_list(request: PersonRequest, page_id: UUID) -> HttpResponse:
    page = StatusPage.objects.own(request.user, id=page_id)
    confirmed = page.subscribers.filter(confirmed_at__isnull=False)
    if request.method == "POST":
        subscriber = get_object_or_404(confirmed, id=as_uuid(request.POST.get("remove", "")))
        subscribers.remove(subscriber.id)
        messages.success(request, _("%(address)s is removed.") % {"address": subscriber.address})
        return redirect("watches:subscribers", page.id)
    context = {
        "status_page": page,
        "page": Paginator(confirmed, _ROWS).get_page(request.GET.get("page")),
        "unconfirmed": page.subscribers.filter(expires_at__gt=timezone.now()).count(),
    }
    return render(request, "watches/subscribers.html", context)
