"""Check a channel: verify it by a code, or send a test message and show its result."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from common.forms.not_possible import shown_in
from notifications import providers
from notifications.channels import changes, verification
from notifications.channels.forms import CodeForm
from notifications.deliveries import confirmation
from notifications.models import Channel, Delivery, Notification
from people.access.requests import PersonRequest, person_action, person_form, person_page, posted

# The result of a test stops polling after this many seconds.
_POLLED = 120.0
_CHECKED_WITHIN = timedelta(seconds=5)


@person_form
def verify(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = Channel.objects.own(request.user, id=channel_id)
    listed = f"{reverse('notifications:channels')}#channel-{channel.id}"
    if channel.verified_at is not None:  # perhaps by its receiver, while the page before was open
        if channel.disabled_at is None:
            _say_ready(request, channel)
        return redirect(listed)
    form = CodeForm(posted(request))
    if form.is_valid():
        with shown_in(form, "code"):
            if confirmation.confirm(channel, form.cleaned_data["code"], timezone.now()):
                _say_ready(request, channel)
                return redirect(listed)
            form.add_error("code", _("This is not the latest code. Check the newest message."))
    sent = Delivery.objects.filter(channel=channel, notification__origin=Notification.Origin.CODE)
    latest = sent.select_related("notification").order_by("-id").first()
    context = {"channel": channel, "provider": providers.find(channel.provider), "form": form}
    if latest is not None:
        context |= _result(latest)
    return render(request, "notifications/channel_verify.html", context)


def _say_ready(request: PersonRequest, channel: Channel) -> None:
    messages.success(request, _("“%(label)s” is ready. Your reminders can use it.") % {"label": channel.label})


@person_action
def resend_code(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = Channel.objects.own(request.user, id=channel_id)
    if channel.verified_at is None:
        send_code(request, channel)
    return redirect("notifications:channel-verify", channel.id)


def send_code(request: PersonRequest, channel: Channel) -> None:
    with shown_in(request):
        verification.send_code(channel, timezone.now())
        if channel.provider not in providers.unconfigured():  # the page says what becomes of it
            messages.success(request, _("A code is on its way to “%(label)s”.") % {"label": channel.label})


@person_action
def send_test(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = Channel.objects.own(request.user, id=channel_id)
    if channel.verified_at is None:  # it may only receive a code
        return redirect("notifications:channel-verify", channel.id)
    try:
        delivery_id = changes.send_test(channel, timezone.now())
    except verification.TooManyCodes as refusal:
        if request.htmx:
            return render(request, "notifications/_test_refused.html", {"refusal": refusal})
        messages.error(request, str(refusal))
        return redirect("notifications:channels")
    if request.htmx:
        return _render_result(request, delivery_id)
    messages.info(request, _("The test is on its way. Reload this page to see the result."))
    return redirect("notifications:notification", Delivery.objects.get(id=delivery_id).notification_id)


@person_page
def test_result(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    return _render_result(request, delivery_id)


def _render_result(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    shown = Delivery.objects.for_user(request.user).select_related("notification", "channel")
    delivery = get_object_or_404(shown, id=delivery_id)
    channel = delivery.channel
    if delivery.notification.origin == Notification.Origin.CODE and channel.verified_at and not channel.removed_at:
        # Its receiver, or its person at this moment, has answered the code: that page says so and leads on.
        return HttpResponseClientRedirect(reverse("notifications:channel-verify", args=[channel.id]))
    return render(request, "notifications/_test_result.html", _result(delivery))


def _result(delivery: Delivery) -> dict[str, Any]:
    """For `_test_result.html`: the delivery of a test or a code, and whether to poll again."""
    now = timezone.now()
    age = (now - delivery.created_at).total_seconds()
    is_code = delivery.notification.origin == Notification.Origin.CODE
    # What the receiver answered is checked just after the delivery has ended.
    just_ended = is_code and delivery.settled_at is not None and now - delivery.settled_at < _CHECKED_WITHIN
    return {
        "delivery": delivery,
        "is_code": is_code,
        "poll": (delivery.state in Delivery.OPEN or just_ended) and age < _POLLED,
        "no_worker": delivery.state == Delivery.State.PENDING
        and delivery.tries == 0
        and age > 10
        and not delivery.is_pulled,
    }
