"""Subscribing to a status page by mail, for strangers; and its subscribers, for its owner."""

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from common.admin.base import as_uuid
from common.redis.request_limiter import by_address, limit_page
from common.texts import languages
from notifications.messages.links import SUBSCRIPTION
from notifications.providers.email import EmailForm
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, person_form, posted
from watches.models import StatusPage, Subscriber
from watches.status_pages import subscribers

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
                try:
                    subscribers.subscribe(page, form.cleaned_data["address"], by_address(request))
                    is_sent = True
                except subscribers.SubscriptionRefused as refused:
                    form.add_error(None, str(refused))
            context = {"page": page, "form": form, "is_sent": is_sent}
            return render(request, "watches/subscribe.html", context, status=422 if form.errors else 200)

    return limit_page(by_address(request), respond)


@signed_link_view(SUBSCRIPTION)
def by_link(request: HttpRequest, subscriber_id: UUID) -> HttpResponse:
    """The link in each mail. A GET changes nothing, because programs open the links in emails.

    Mail services post here for their one-click button (RFC 8058).
    """
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
