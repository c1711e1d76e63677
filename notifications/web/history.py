"""History: the person's notifications and what happened to them."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from common.web import paging
from notifications.deliveries import withdrawal
from notifications.deliveries.history import candidates, with_delivery
from notifications.models import Channel, Delivery, Notification, sort_channels
from notifications.web.chart import chart
from notifications.web.history_form import TESTS, HistoryForm
from people.access.requests import PersonRequest


@login_required
@require_safe
def history(request: PersonRequest) -> HttpResponse:
    form = HistoryForm(request.GET, request.user)
    form.is_valid()
    is_first = not {"before", "after"} & request.GET.keys()
    context = {
        "form": form,
        "tests": form.asked("show") == TESTS,
        "page": None if form.wrong_days else _page(request, form),
        "chart": chart(form, request.user.pk) if is_first and not form.wrong_days and not form.asked("show") else None,
    }
    return render(request, "notifications/history.html", context)


@login_required
@require_safe
def notification(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    deliveries = Delivery.objects.select_related("channel").prefetch_related("history").order_by("channel_id")
    found = get_object_or_404(
        Notification.objects.for_user(request.user).prefetch_related(Prefetch("deliveries", deliveries)),
        id=notification_id,
    )
    ordered = sort_channels(found.channel_order, Channel.objects.filter(user=request.user, id__in=found.channel_order))
    order = [channel.label for channel in ordered]
    return render(request, "notifications/notification.html", {"notification": found, "order": order})


@login_required
@require_POST
def cancel(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    """Cancel what has not gone out."""
    found = Notification.objects.for_user(request.user).filter(id=notification_id)
    get_object_or_404(found)
    if withdrawal.cancel(found):
        messages.success(request, _("Cancelled. What has not gone out is not sent."))
    else:
        messages.info(request, _("Nothing is waiting any more, so nothing was cancelled."))
    return redirect("notifications:notification", notification_id)


def _page(request: PersonRequest, form: HistoryForm) -> paging.Page[Notification]:
    rows = form.period.of(Notification.objects.for_user(request.user))
    if form.asked("show") == TESTS:
        rows = rows.filter(origin__in=Notification.OF_CHANNELS)
    else:
        rows = rows.exclude(origin__in=form.without)
    if reminder := form.asked("reminder"):
        rows = rows.filter(origin_id=reminder)
    deliveries = Delivery.objects.select_related("channel").order_by("channel_id")
    rows = rows.prefetch_related(Prefetch("deliveries", deliveries))
    search, among = form.asked("q"), rows
    by_delivery = form.asked("channel") or form.asked("state")
    if by_delivery and not (search or reminder or form.asked("show")):
        found = candidates(form.channel_ids, form.states, form.period, paging.span(request.GET), form.without)
        return paging.page(rows.filter(id__in=found), request.GET)
    if by_delivery:
        rows = with_delivery(rows, form.channel_ids, form.states)
    if search:
        rows = rows.filter(subject__icontains=search)
    return paging.page(rows, request.GET, among=among if by_delivery or search else None)
