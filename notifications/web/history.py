"""History: the person's notifications, what happened to them, and what to do with those that failed."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from common.database import paging, replica
from notifications.deliveries import dead_letters, withdrawal
from notifications.deliveries.dead_letters import ACTS, Action
from notifications.deliveries.history import candidates, with_delivery
from notifications.deliveries.members import name_teams, notified_members
from notifications.models import Channel, Delivery, Notification, sort_channels
from notifications.web.chart import chart
from notifications.web.history_form import TESTS, HistoryForm
from people.access.requests import PersonRequest, person_action, person_page
from work.dead_letters import act_on_own

_TEXTS = {
    Action.REPLAYED: gettext_lazy("Sending again to “%(channel)s”."),
    Action.AS_NEW: gettext_lazy("Sent as new to “%(channel)s”. Your history shows it."),
    Action.DISCARDED: gettext_lazy("Discarded. Nothing more is sent."),
    Action.FIXED: gettext_lazy("Marked as fixed. Nothing more is sent."),
}


@person_page
def history(request: PersonRequest) -> HttpResponse:
    return replica.read(lambda: _history(request))


def _history(request: PersonRequest) -> HttpResponse:
    form = HistoryForm(request.GET, request.user)
    form.is_valid()
    is_first = not {"before", "after"} & request.GET.keys()
    context = {
        "form": form,
        "tests": form.chosen("show") == TESTS,
        "page": None if form.wrong_days else _page(request, form),
        "chart": chart(form, request.user.pk) if is_first and not form.wrong_days and not form.chosen("show") else None,
    }
    return render(request, "notifications/history.html", context)


@person_page
def notification(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    deliveries = Delivery.objects.select_related("channel").prefetch_related("history").order_by("channel_id")
    whole = Notification.objects.prefetch_related(Prefetch("deliveries", deliveries))
    own = whole.own(request.user, id=notification_id)
    ordered = sort_channels(own.channel_order, Channel.objects.filter(user=request.user, id__in=own.channel_order))
    order = [channel.label for channel in ordered]
    members = notified_members(own) if request.user.is_team else []
    name_teams([own])
    return render(request, "notifications/notification.html", {"notification": own, "order": order, "members": members})


@person_action
def cancel(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    own = Notification.objects.for_user(request.user).filter(id=notification_id)
    get_object_or_404(own)
    if withdrawal.cancel(own):
        messages.success(request, _("Cancelled. Messages that have not gone out are not sent."))
    else:
        messages.info(request, _("Nothing is waiting any more, so nothing was cancelled."))
    return redirect("notifications:notification", notification_id)


@person_action
def act(request: PersonRequest, delivery_id: UUID, what: Action) -> HttpResponse:
    """Send one's own dead letter again or as new, discard it, or mark it as fixed; recorded like an operator's act."""
    own = Delivery.objects.for_user(request.user).select_related("channel", "notification")
    dead_letter = get_object_or_404(own, id=delivery_id)
    note = " ".join(request.POST.get("note", "").replace("\0", "").split())[:300]
    if obstacle := dead_letters.obstacle(dead_letter, what):
        messages.error(request, _("Nothing was sent. %(obstacle)s") % {"obstacle": obstacle})
    elif act_on_own(dead_letter, ACTS[what], request.user, note).changed:
        messages.success(request, _TEXTS[what] % {"channel": dead_letter.channel.label})
    else:
        messages.info(request, _("It does not wait for you any more. Nothing changed."))
    page = reverse("notifications:notification", args=[dead_letter.notification_id])
    return redirect(f"{page}#delivery-{dead_letter.id}")


def _page(request: PersonRequest, form: HistoryForm) -> paging.Page[Notification]:
    rows = among = _rows(request, form)
    search, by_delivery = form.chosen("q"), form.chosen("channel") or form.chosen("state")
    if by_delivery and not any(map(form.chosen, ("q", "reminder", "show"))):
        span = paging.span(request.GET, Notification)
        ids = candidates(form.channel_ids, form.states, form.period, span, form.without)
        return paging.page(rows.filter(id__in=ids), request.GET)
    if by_delivery:
        rows = with_delivery(rows, form.channel_ids, form.states)
    if search:
        rows = rows.filter(subject__icontains=search)
    return paging.page(rows, request.GET, among=among if by_delivery or search else None)


def _rows(request: PersonRequest, form: HistoryForm) -> QuerySet[Notification]:
    """Those of the tab, the days and the reminder."""
    rows = form.period.of(Notification.objects.for_user(request.user))
    if form.chosen("show") == TESTS:
        rows = rows.filter(origin__in=Notification.OF_CHANNELS)
    else:
        rows = rows.exclude(origin__in=form.without)
    if reminder := form.chosen("reminder"):
        rows = rows.filter(origin_id=reminder)
    deliveries = Delivery.objects.select_related("channel").order_by("channel_id")
    return rows.prefetch_related(Prefetch("deliveries", deliveries))
