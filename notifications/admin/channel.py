"""Channels in the admin: address, state and settings, never a secret; and the messages of boards."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from common.admin import columns, pages
from common.admin.base import as_uuid
from common.admin.filters import newest_filter
from common.texts.state_words import labelled
from notifications.admin import cells
from notifications.channels import changes
from notifications.models import BoardMessage, Channel
from notifications.models.channel import STATES, in_state
from people.admin.user import OwnedAdmin, to_person

ChannelState = newest_filter(
    "state", lambda: map(labelled, STATES), condition=lambda state: in_state(state) if state in STATES else Q(pk=None)
)


@admin.register(Channel)
class ChannelAdmin(OwnedAdmin):
    list_display = ("label", "provider_name", "address_summary", "state", "person", "verified", "rows")
    deferred = ("sealed_secrets",)
    list_filter = (ChannelState, cells.ProviderFilter)
    list_disable_select_all = True  # each belongs to one person
    fieldsets: Any = (
        columns.section(None, ("label", "provider_name"), "address_summary", ("person", "state"), "rows"),
        columns.section(gettext_lazy("Settings"), "on_unknown"),
        columns.section(gettext_lazy("Instants"), ("created", "verified"), ("failing", "disabled"), "disabled_reason"),
        columns.section(gettext_lazy("Ended"), ("unsubscribed", "removed")),
    )
    readonly_fields = [name for name in flatten_fieldsets(fieldsets) if name != "on_unknown"]
    empty_text = gettext_lazy("No channels yet. Each new account gets an inbox.")
    actions = ("disable", "enable")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Whether the form's only field, `on_unknown`, can be edited: not for a removed channel."""
        return self.has_act_permission(request, obj) and getattr(obj, "removed_at", None) is None

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        label = _("If Carillon cannot tell whether a message arrived")
        choices = [("", "default of its provider"), *Channel.OnUnknown.choices]
        return super().formfield_for_choice_field(db_field, request, label=label, choices=choices, **kwargs)

    def save_model(self, request: HttpRequest, obj: Channel, form: Any, change: bool) -> None:
        obj.save(update_fields=["on_unknown"])  # no concurrent change is overwritten

    @admin.action(description=gettext_lazy("Disable…"), permissions=["act"])
    @transaction.atomic
    def disable(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        form = pages.reason(request)
        if not form.is_valid():
            count = queryset.count()
            return pages.confirmation(
                self,
                request,
                action="disable",
                title=_("Disable channels"),
                text=ngettext(
                    "Nothing is sent to %(count)s channel until you enable them again. Messages that fall due become "
                    "dead letters. The owner sees this reason.",
                    "Nothing is sent to %(count)s channels until you enable them again. Messages that fall due become "
                    "dead letters. The owner sees this reason.",
                    count,
                )
                % {"count": count},
                button=_("Disable %(count)s") % {"count": count},
                form=form,
            )
        reason = form.cleaned_data["reason"]
        disabled = changes.disable(queryset.values_list("pk", flat=True), reason)
        self._report(request, disabled, f"Disabled: {reason}", _("%(count)s disabled."))
        return None

    @admin.action(description=gettext_lazy("Enable"), permissions=["act"])
    @transaction.atomic
    def enable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        enabled = changes.enable(queryset.values_list("pk", flat=True))
        self._report(request, enabled, "Enabled.", _("%(count)s enabled."))

    def _report(self, request: HttpRequest, changed: list[UUID], log_message: str, sentence: str) -> None:
        self.log_many(request, [Channel(pk=key) for key in changed], log_message)
        level = messages.SUCCESS if changed else messages.WARNING
        self.message_user(request, sentence % {"count": len(changed)}, level)

    provider_name = columns.column(gettext_lazy("provider"), "provider_label")
    address_summary = columns.column(gettext_lazy("address"), "summary")
    state = columns.badge(
        gettext_lazy("state"), "state", {"verified": "success", "unverified": "info", "disabled": "warning"}
    )

    @admin.display(description=gettext_lazy("rows"))
    def rows(self, channel: Channel) -> SafeString:
        return columns.many(
            columns.to_list("notifications.delivery", _("deliveries"), channel__id__exact=channel.pk),
            columns.to_list("notifications.deadletter", _("dead letters"), channel__id__exact=channel.pk),
            columns.to_list("schedules.schedule", _("schedules"), channels__id__exact=channel.pk),
            columns.to_list("events.rule", _("rules"), channels__id__exact=channel.pk),
        )

    unsubscribed = columns.instant_column(gettext_lazy("unsubscribed"), "unsubscribed_at")


@admin.register(BoardMessage)
class BoardMessageAdmin(OwnedAdmin):
    owner = "board__user"
    related = ("board__user",)
    list_display = fields = ("shown_text", "board_name", "person", "author", "created")
    link_lookups = ("board__id__exact",)
    search_fields = ("board",)
    search_help_text = gettext_lazy("A board's id.")
    empty_text = gettext_lazy("Nothing stands on any board.")

    shown_text = columns.column(gettext_lazy("text"), "text", columns.short)
    board_name = columns.column(
        gettext_lazy("board"), "board", lambda one: columns.to_row("notifications.channel", one.pk, one)
    )
    person = columns.column(gettext_lazy("person"), "board.user", to_person)

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(board=as_uuid(term))
