"""Inbound addresses and their last requests, without secrets."""

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyAdmin
from common.admin.filters import Period
from events.models import InboundAddress, InboundRequest
from people.admin.user import OwnedAdmin


@admin.register(InboundAddress)
class InboundAddressAdmin(OwnedAdmin):
    list_display = ("label", "person", "scheme_label", "enabled", "created", "last_requests")
    list_filter = (Period,)
    fields = ("label", ("person", "enabled"), ("scheme_label", "options"), "fields", ("created", "last_requests"), "id")
    search_help_text = _("An id, or the beginning of a person's email address.")
    empty_text = _("No inbound addresses yet. People make them on their own pages.")

    scheme_label = columns.column(_("signature"), "scheme_label")
    created = columns.instant_column(_("created"), "created_at")

    @admin.display(description=_("last requests"))
    def last_requests(self, address: InboundAddress) -> SafeString:
        return columns.to_list("events.inboundrequest", "requests", address__id__exact=address.pk)


@admin.register(InboundRequest)
class InboundRequestAdmin(ReadOnlyAdmin):
    owner = "address__user"
    list_display = ("when", "status", "to_address", "why")
    list_select_related = ("address",)
    list_filter = (Period,)
    ordering = ("-id",)
    link_lookups = ("address__id__exact",)
    fields = (("when", "status"), "to_address", "reason", "events", "headers", "body", "id")
    search_fields = ("id",)
    search_help_text = _("An id.")
    empty_text = _("No service has posted anything yet.")

    when = columns.instant_column(_("when"), "at")
    why = columns.column(_("reason"), "reason", columns.short)

    @admin.display(description=_("address"))
    def to_address(self, request: InboundRequest) -> SafeString:
        return columns.to_row("events.inboundaddress", request.address_id, request.address.label)

    @admin.display(description=_("events"))
    def events(self, request: InboundRequest) -> SafeString:
        """They begin chains of their own, so each has its trace."""
        links = ((columns.to_page("events:trace", key, correlation_id=key),) for key in request.event_keys)
        return format_html_join("", "<div>{}</div>", links) or SafeString(columns.NONE)
