"""Topics, registered types and inbound addresses in the admin; subscribers are counted up to a limit."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import columns
from common.admin.base import ReadOnlyAdmin
from common.admin.filters import Period
from events.models import InboundAddress, InboundRequest, RegisteredType, Topic
from events.topics import changes
from people.admin.user import OwnedAdmin


@admin.register(Topic)
class TopicAdmin(OwnedAdmin):
    list_display = ("name", "slug", "person", "subscribers", "access", "created")
    fieldsets = (
        columns.section(None, ("name", "slug"), "description", ("person", "access"), ("subscribers", "created")),
        columns.section(gettext_lazy("Says"), "title", "body"),
    )
    search_fields = ("name",)
    empty_text = gettext_lazy("No topics yet. People create them on their own pages.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return changes.with_subscribers(super().get_queryset(request))

    subscribers = columns.column(gettext_lazy("subscribers"), "subscribers", changes.shown_count)
    access = columns.badge(
        gettext_lazy("access"),
        "is_open",
        {"open": "success", "by its owner": "info"},
        lambda is_open: ("open", _("open")) if is_open else ("by its owner", _("by its owner")),
    )


@admin.register(RegisteredType)
class RegisteredTypeAdmin(OwnedAdmin):
    list_display = ("name", "person", "whose", "misfits", "emitted_by", "handled_by", "made")
    fieldsets = (
        columns.section(None, ("name", "version"), "summary", ("person", "whose"), ("misfits", "made"), "id"),
        columns.section(gettext_lazy("For people"), ("emitted_by", "handled_by")),
        columns.section(gettext_lazy("Schema"), "data_schema"),
    )
    empty_text = gettext_lazy("No types yet. People register them on their own pages.")

    misfits = columns.column(gettext_lazy("what does not fit"), "get_on_misfit_display")
    made = columns.instant_column(gettext_lazy("registered"), "created_at")
    whose = columns.badge(
        gettext_lazy("for"),
        "is_for_everybody",
        {"everybody": "success", "one person": "info"},
        lambda is_so: ("everybody", _("everybody")) if is_so else ("one person", _("one person")),
    )


@admin.register(InboundAddress)
class InboundAddressAdmin(OwnedAdmin):
    list_display = ("label", "person", "scheme_label", "enabled", "created", "last_requests")
    list_filter = (Period,)
    fields = ("label", ("person", "enabled"), ("scheme_label", "options"), "fields", ("created", "last_requests"), "id")
    empty_text = gettext_lazy("No inbound addresses yet. People make them on their own pages.")

    scheme_label = columns.column(gettext_lazy("signature"), "scheme_label")
    last_requests = columns.column(
        gettext_lazy("last requests"),
        "pk",
        lambda key: columns.to_list("events.inboundrequest", "requests", address__id__exact=key),
    )


@admin.register(InboundRequest)
class InboundRequestAdmin(ReadOnlyAdmin):
    owner = "address__user"
    list_display = ("when", "status", "to_address", "why")
    list_select_related = ("address",)
    list_filter = (Period,)
    link_lookups = ("address__id__exact",)
    fields = (("when", "status"), "to_address", "reason", "events", "headers", "body", "id")
    search_fields = ("id",)
    search_help_text = gettext_lazy("An id.")
    empty_text = gettext_lazy("No service has posted anything yet.")

    when = columns.instant_column(gettext_lazy("when"), "at")
    why = columns.column(gettext_lazy("reason"), "reason", columns.short)
    to_address = columns.column(
        gettext_lazy("address"), "address", lambda one: columns.to_row("events.inboundaddress", one.pk, one.label)
    )

    @admin.display(description=gettext_lazy("events"))
    def events(self, request: InboundRequest) -> SafeString:
        """They begin chains of their own, so each has its trace."""
        links = ((columns.to_page("events:trace", key, correlation_id=key),) for key in request.event_keys)
        return format_html_join("", "<div>{}</div>", links) or SafeString(columns.NONE)
