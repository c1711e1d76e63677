"""Channels: list, add, settings, change, enable, remove; their signing secrets: show one once, replace it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database import encryption
from common.forms.edit_form import VersionConflict
from common.forms.not_possible import NotPossible
from notifications import providers
from notifications.channels import changes, verification
from notifications.channels.forms import ChannelForm, LabelForm, RenameForm, change_form
from notifications.deliveries import history, pull
from notifications.deliveries.channel_health import PATIENCE
from notifications.models import Channel, Delivery, Notification
from notifications.net import address_checks
from notifications.providers import web_push
from notifications.providers.base import Provider
from notifications.providers.board import Board
from notifications.web import channel_check
from people.access.requests import PersonRequest, made_once, person_action, person_form, person_page, posted

_USES = 20
# Waiting messages of a queue are counted up to here.
_COUNTED = 1_000
# Session key: the id of the channel whose secret the next page shows. The session never holds the secret.
_TO_REVEAL = "channel_to_reveal"


@person_page
def channel_list(request: PersonRequest) -> HttpResponse:
    search = request.GET.get("q", "").strip()[:200]
    own = changes.with_last_delivery(request.user)
    # A person has too few channels for a query; the search is in the text that the list shows.
    rows = [
        {"channel": one, "last": last}
        for one, last in own
        if search.casefold() in f"{one.label} {one.provider_label} {one.summary}".casefold()
    ]
    own_address = any(channel.address.get("address") == request.user.email for channel, _ in own)
    return render(
        request,
        "notifications/channel_list.html",
        {
            "rows": rows,
            "search": search,
            "offer_email": not (own_address or request.user.is_team),
            "push": web_push.offer(channel for channel, _ in own),
            "offer_inbox": all(channel.provider != "inbox" for channel, _ in own),
            "notices": [notice for provider in providers.all() if (notice := provider.notice())],
        },
    )


@person_page
def choose(request: PersonRequest) -> HttpResponse:
    inbox = Channel.objects.for_user(request.user).filter(provider="inbox").exists()
    hidden = ["inbox"] * inbox + ["team", "on_call"] * (not request.user.is_team)
    offered = [provider for provider in providers.all() if provider.kind not in hidden]
    return render(request, "notifications/channel_choose.html", {"providers": offered})


def _to_added(request: PersonRequest) -> HttpResponse:
    """To what comes next for the channel that the form has made. Who sends it again is shown no secret again."""
    channel = Channel.objects.own(request.user, id=request.made_as)
    if _provider(channel.provider).revealed:
        return redirect("notifications:channel-secret", channel.id)
    if channel.verified_at is None:
        return redirect("notifications:channel-verify", channel.id)
    if channel.provider == Board.kind:
        return redirect("notifications:board", channel.id)
    text = _("“%(label)s” is ready. Send a test to check that it arrives.")
    messages.success(request, text % {"label": channel.label})
    return redirect(f"{reverse('notifications:channels')}#channel-{channel.id}")


@person_form
@made_once(_to_added)
def add(request: PersonRequest, kind: str) -> HttpResponse:
    provider = _provider(kind)
    data = posted(request)
    details, label = provider.form(data), LabelForm(data)
    if data is not None and address_checks.are_valid(request.user.pk, details, label):
        cleaned, name = details.cleaned_data, label.cleaned_data["label"]
        try:
            channel = changes.add(request.user, kind, cleaned, name, request.made_as)
        except changes.SecondInbox as refusal:
            messages.info(request, str(refusal))
            return redirect("notifications:channels")
        except NotPossible as refusal:
            details.add_error(None, str(refusal))
        else:
            if channel.verified_at is None:
                channel_check.send_code(request, channel)
            return _to_secret(request, channel) if provider.revealed else _to_added(request)
    context: dict[str, Any] = {"provider": provider, "details": details, "label": label}
    if provider.from_browser:
        context["push"] = web_push.offer(Channel.objects.for_user(request.user))
    return render(request, "notifications/channel_add.html", context)


@person_form
def change_settings(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = Channel.objects.own(request.user, id=channel_id)
    provider = _provider(channel.provider)
    form = ChannelForm(posted(request), channel, provider)
    if form.is_valid():
        changes.change_settings(channel, **form.cleaned_data)
        messages.success(request, _("“%(label)s” is saved.") % {"label": form.cleaned_data["label"]})
        return redirect("notifications:channels")
    context = {"channel": channel, "provider": provider, "form": form, "patience": PATIENCE}
    context |= {"statistics": history.statistics_of(channel.id), "most": history.MOST_COUNTED}
    if provider.is_pulled:
        context |= {"queue": pull.count(channel.id, _COUNTED + 1), "counted": _COUNTED, "base_url": settings.BASE_URL}
    return render(request, "notifications/channel_settings.html", context | _uses(channel))


@person_form
def change(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    """Change its address or secrets, in its provider's own form."""
    channel = Channel.objects.own(request.user, id=channel_id)
    provider = _provider(channel.provider)
    if provider.from_browser or not provider.form.base_fields:
        return redirect("notifications:channel", channel.id)
    data = posted(request)
    stored = channel.readable_destination()
    details = change_form(data, provider, stored)
    label = RenameForm(data, initial={"label": channel.label})
    if data is not None and address_checks.are_valid(request.user.pk, details, label):
        after = provider.update(stored, details.cleaned_data)
        try:
            changed = changes.change(channel, request.POST.get("read", ""), after, label.cleaned_data["label"])
        except VersionConflict:
            messages.error(
                request,
                _("Somebody changed this channel in the meantime, so nothing was saved. These are the current values."),
            )
            return redirect("notifications:channel-change", channel.id)
        except verification.CodeRefused as refusal:
            details.add_error(None, str(refusal))
        else:
            new_secret = stored.secrets.get(provider.revealed) != after.secrets.get(provider.revealed)
            return _after_change(request, channel, changed, new_secret)
    pending = Delivery.objects.filter(channel=channel, state=Delivery.State.PENDING)
    context = {
        "channel": channel,
        "provider": provider,
        "details": details,
        "label": label,
        "read": channel.version,
        "unreadable": channel.unreadable,
        "pending": pending.exclude(notification__origin__in=Notification.OF_CHANNELS).count(),
    }
    return render(request, "notifications/channel_change.html", context)


def _after_change(request: PersonRequest, before: Channel, after: Channel, new_secret: bool) -> HttpResponse:
    """To the new secret, to the code form if a code is needed, or back to the list."""
    to_verify = after.verified_at is None and after.disabled_at is None
    if to_verify and before.link_id != after.link_id:
        channel_check.send_code(request, after)
    else:
        messages.success(request, _("“%(label)s” is changed.") % {"label": after.label})
    if new_secret:
        return _to_secret(request, after)
    if to_verify:
        return redirect("notifications:channel-verify", after.id)
    return redirect(f"{reverse('notifications:channels')}#channel-{after.id}")


def _to_secret(request: PersonRequest, channel: Channel) -> HttpResponse:
    """Redirect to the page that shows the channel's newest secret once."""
    request.session[_TO_REVEAL] = str(channel.id)
    return redirect("notifications:channel-secret", channel.id)


@person_page
def secret(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    """Show the new secret once; afterwards the page says that it cannot be shown again."""
    channel = Channel.objects.own(request.user, id=channel_id)
    provider = providers.get(channel.provider)
    fresh = request.session.get(_TO_REVEAL) == str(channel.id)
    if fresh:
        del request.session[_TO_REVEAL]
    context = {"channel": channel, "revealed": provider.revealed}
    if provider.revealed and not channel.unreadable:
        destination = channel.destination()
        context["secret"] = destination.secrets[provider.revealed] if fresh else ""
        context["overlaps"] = provider.overlap_ends(destination, timezone.now())
    return render(request, "notifications/channel_secret.html", context)


@person_form
def replace_secret(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    """Confirm first; a form that is sent twice replaces the secret once."""
    channel = Channel.objects.own(request.user, id=channel_id)
    provider = providers.get(channel.provider)
    if not provider.revealed:
        return redirect("notifications:channel", channel.id)
    if request.method == "POST":
        try:
            if changes.replace_secret(channel.id, request.POST.get("replaces", ""), request.user, timezone.now()):
                return _to_secret(request, channel)
            messages.info(request, _("The secret was already replaced. Nothing changed this time."))
            return redirect("notifications:channel-secret", channel.id)
        except (NotPossible, encryption.Unreadable) as refusal:
            messages.error(request, str(refusal))
            return redirect("notifications:channel", channel.id)
    hours = provider.overlap // timedelta(hours=1)
    context = {"channel": channel, "replaces": changes.secret_fingerprint(channel), "hours": hours}
    return render(request, "notifications/channel_secret_new.html", context)


@person_action
def enable(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = Channel.objects.own(request.user, id=channel_id)
    if changes.enable_own(channel):
        text = _("“%(label)s” is enabled. Send a test to check that it arrives.")
        messages.success(request, text % {"label": channel.label})
    return redirect("notifications:channel", channel.id)


@person_form
def remove(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = Channel.objects.own(request.user, id=channel_id)
    if request.method == "POST":
        changes.remove(channel)
        messages.success(request, _("“%(label)s” is removed. Its history stays.") % {"label": channel.label})
        return redirect("notifications:channels")
    return render(request, "notifications/channel_remove.html", {"channel": channel} | _uses(channel))


# What sends to channels: the relation, the page of one, and what has ended.
_SENDERS = (("schedules", "schedules:detail", Q(state="finished")), ("rules", "events:rule", Q(enabled=False)))


def _uses(channel: Channel) -> dict[str, Any]:
    """The reminders and rules that use it, with its position in their order, if they have one.

    Those without another channel come first; `alone` counts them.
    """
    uses, more, alone = [], 0, 0
    for relation, page, ended in _SENDERS:
        senders: QuerySet[Any] = getattr(channel, relation).filter(deleted_at=None)
        others = Channel.objects.filter(removed_at=None, **{relation: OuterRef("id")}).exclude(id=channel.id)
        is_alone = Q(~Exists(others), ~ended)
        for sender in senders.annotate(alone=is_alone).order_by("-alone", "-id").prefetch_related("channels")[:_USES]:
            order = sender.ordered_channels() if sender.channel_order else []
            position = order.index(channel) + 1 if order else 0
            uses.append(
                {"sender": sender, "page": reverse(page, args=[sender.id]), "position": position, "of": len(order)}
            )
        more += max(0, senders.count() - _USES)
        alone += senders.filter(is_alone).count()
    return {"uses": uses, "more": more, "alone": alone}


def _provider(kind: str) -> Provider:
    try:
        return providers.get(kind)
    except providers.UnknownProvider as error:
        raise Http404(str(error)) from None
