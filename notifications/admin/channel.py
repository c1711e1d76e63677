"""Channels in the admin: where things go, whether they may, and never a secret."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import Record, as_uuid
from common.admin.columns import badge
from common.admin.filters import Newest, newest, of_the_newest
from notifications import providers
from notifications.admin import cells, confirm
from notifications.channels import changes
from notifications.models import Channel
from people.admin import search

_STATES: dict[str | None, tuple[str, dict[str, Any]]] = {
    "usable": ("usable", {"removed_at": None, "disabled_at": None, "verified_at__isnull": False}),
    "unverified": ("not verified", {"removed_at": None, "verified_at": None}),
    "disabled": ("disabled", {"removed_at": None, "disabled_at__isnull": False}),
    "removed": ("removed", {"removed_at__isnull": False}),
}


class ChannelState(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(name), of_the_newest(label)) for name, (label, _) in _STATES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        name = self.value()
        return newest(queryset.filter(**_STATES[name][1])) if name in _STATES else queryset


class ChannelProvider(Newest):
    title = "provider"
    parameter_name = "provider"

    def options(self) -> list[tuple[str, str]]:
        return [(provider.kind, provider.label) for provider in providers.all()]


@admin.register(Channel)
class ChannelAdmin(Record):
    list_display = ("label", "provider_name", "address_summary", "state", "person", "verified", "rows")
    list_select_related = ("user",)
    list_filter = (ChannelState, ChannelProvider)
    list_disable_select_all = True  # each is one person's: nobody disables them by the thousand
    ordering = ("-id",)
    arrivals = ("user__id__exact",)
    fieldsets = (
        (None, {"fields": (("label", "provider_name"), "address_summary", ("person", "state"), "rows")}),
        ("Settings", {"fields": ("on_unknown",)}),
        ("Instants", {"fields": (("created", "verified"), ("failing", "disabled"), "disabled_reason")}),
        ("Ended", {"fields": (("unsubscribed", "removed"),)}),
    )
    readonly_fields = (
        "label",
        "provider_name",
        "address_summary",
        "person",
        "state",
        "rows",
        "created",
        "verified",
        "failing",
        "disabled",
        "disabled_reason",
        "unsubscribed",
        "removed",
    )
    search_fields = ("id",)
    search_help_text = "A channel's id, or the beginning of a person's email address."
    nothing = "No channels yet. Everybody who signs up gets an inbox."
    actions = ("disable", "enable")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Of a channel that is not removed; the form has one field, all others are its owner's."""
        return self.has_act_permission(request, obj) and getattr(obj, "removed_at", None) is None

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Its only field is `on_unknown`."""
        label = "If nobody knows whether a message arrived"
        choices = [("", "the usual of its provider"), *Channel.OnUnknown.choices]
        return super().formfield_for_choice_field(db_field, request, label=label, choices=choices, **kwargs)

    def save_model(self, request: HttpRequest, obj: Channel, form: Any, change: bool) -> None:
        obj.save(update_fields=["on_unknown"])  # nothing that was written meanwhile is overwritten

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).defer("sealed_secrets")
        return rows

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.filter(user__in=search.people(term)) if key is None else rows.filter(pk=key)

    @admin.action(description="Disable…", permissions=["act"])
    @transaction.atomic
    def disable(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        form = confirm.answer(request)
        if not form.is_valid():
            count = queryset.count()
            return confirm.ask(
                self,
                request,
                action="disable",
                title="Disable channels",
                sentence=f"Nothing is sent to {'1 channel' if count == 1 else f'{count} channels'} until it is enabled "
                "again; what comes up for it meanwhile becomes a dead letter. Its owner reads this reason.",
                button=f"Disable {count}",
                form=form,
            )
        reason = form.cleaned_data["reason"]
        changed = changes.disable(queryset.values_list("pk", flat=True), reason)
        self.log_many(request, [Channel(pk=key) for key in changed], f"Disabled: {reason}")
        self.message_user(request, f"{len(changed)} disabled.", messages.SUCCESS if changed else messages.WARNING)
        return None

    @admin.action(description="Enable", permissions=["act"])
    @transaction.atomic
    def enable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        changed = changes.enable(queryset.values_list("pk", flat=True))
        self.log_many(request, [Channel(pk=key) for key in changed], "Enabled.")
        self.message_user(request, f"{len(changed)} enabled.", messages.SUCCESS if changed else messages.WARNING)

    @admin.display(description="provider")
    def provider_name(self, channel: Channel) -> str:
        return channel.provider_label

    @admin.display(description="address")
    def address_summary(self, channel: Channel) -> str:
        return channel.summary

    @badge("state", {"usable": "success", "not verified": "info", "disabled": "warning"})
    def state(self, channel: Channel) -> str:
        if channel.removed_at is not None:
            return "removed"
        if channel.disabled_at is not None:
            return "disabled"
        return "usable" if channel.verified_at is not None else "not verified"

    @admin.display(description="person")
    def person(self, channel: Channel) -> SafeString:
        return cells.person(channel)

    @admin.display(description="rows")
    def rows(self, channel: Channel) -> SafeString:
        return columns.many(
            columns.to_list("notifications.delivery", "deliveries", channel__id__exact=channel.pk),
            columns.to_list("notifications.deadletter", "dead letters", channel__id__exact=channel.pk),
            columns.to_list("schedules.schedule", "schedules", channels__id__exact=channel.pk),
        )

    @admin.display(description="made")
    def created(self, channel: Channel) -> SafeString:
        return columns.instant(channel.created_at)

    @admin.display(description="verified")
    def verified(self, channel: Channel) -> SafeString:
        return columns.instant(channel.verified_at)

    @admin.display(description="nothing but failures since")
    def failing(self, channel: Channel) -> SafeString:
        return columns.instant(channel.failing_since)

    @admin.display(description="disabled")
    def disabled(self, channel: Channel) -> SafeString:
        return columns.instant(channel.disabled_at)

    @admin.display(description="unsubscribed")
    def unsubscribed(self, channel: Channel) -> SafeString:
        return columns.instant(channel.unsubscribed_at)

    @admin.display(description="removed")
    def removed(self, channel: Channel) -> SafeString:
        return columns.instant(channel.removed_at)
