"""Watches in the admin, read only: their owners change them on their own pages."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyInline
from common.admin.filters import Period
from notifications.admin import cells
from people.admin.user import OwnedAdmin
from watches import timing
from watches.models import Ping, Watch


class PingInline(ReadOnlyInline):
    model = Ping
    verbose_name_plural = _("last pings")
    fields = ("when", "kind", "exit_code", "size", "took")
    readonly_fields = ("when", "took")
    ordering = ("-number",)
    per_page = 20
    hide_title = True
    deferred = ("output",)

    when = columns.instant_column(_("when"), "at")
    took = columns.column(_("duration"), "", lambda ping: timing.length(ping.seconds))


@admin.register(Watch)
class WatchAdmin(OwnedAdmin):
    list_display = ("name", "person", "when", "state", "last_ping", "deadline_at")
    list_filter = (Period,)
    fields = (
        ("name", "person"),
        "when",
        ("state", "state_changed"),
        ("last_ping", "deadline_at"),
        "to_channels",
        ("urgent", "opens_incident"),
        ("id", "version"),
        ("created", "deleted"),
    )
    search_help_text = _("An id, or the beginning of a person's email address.")
    empty_text = _("No watches yet. People make them on their own pages.")
    inlines = (PingInline,)

    when = columns.column(_("expected"), "", timing.when)
    last_ping = columns.instant_column(_("last ping"), "last_ping_at")
    deadline_at = columns.instant_column(_("deadline"), "deadline")
    state_changed = columns.instant_column(_("since"), "state_since")
    to_channels = columns.column(_("channels"), "", cells.channels)
    created = columns.instant_column(_("created"), "created_at")
    deleted = columns.instant_column(_("deleted"), "deleted_at")
