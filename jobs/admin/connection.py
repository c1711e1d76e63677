"""Connections in the admin: kind, address and health, never a secret."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.columns import section
from common.admin.filters import newest_filter
from common.texts.state_words import labelled
from jobs import connections
from jobs.models import Connection
from people.admin.user import OwnedAdmin

KindFilter = newest_filter("kind", lambda: [(kind.name, kind.label) for kind in connections.all()])


@admin.register(Connection)
class ConnectionAdmin(OwnedAdmin):
    list_display = ("label", "kind_name", "address_summary", "state", "why", "person", "rows")
    deferred = ("sealed_secrets",)
    list_filter = (KindFilter,)
    fieldsets = (
        section(None, ("label", "kind_name"), "address_summary", ("person", "state"), "why", "rows"),
        section(_("Instants"), ("created", "verified"), ("working", "failing"), ("disabled", "removed")),
    )
    empty_text = _("Nobody has connected anything yet.")

    kind_name = columns.column(_("kind"), "kind_label")
    address_summary = columns.column(_("address"), "summary")
    why = columns.column(_("why"), "failing_reason")
    state = columns.badge(
        _("state"),
        "",
        {"working": "success", "failing": "warning", "disabled": "warning", "unchecked": "info"},
        lambda connection: labelled("removed" if connection.removed_at is not None else connection.state),
    )

    @admin.display(description=_("rows"))
    def rows(self, connection: Connection) -> SafeString:
        return columns.many(
            columns.to_list("jobs.job", "jobs", connection__id__exact=connection.pk),
            columns.to_list("schedules.schedule", "schedules", connection__id__exact=connection.pk),
        )

    verified = columns.instant_column(_("verified"), "verified_at")
    working = columns.instant_column(_("working since"), "working_since")
    failing = columns.instant_column(_("failing since"), "failing_since")
    disabled = columns.instant_column(_("disabled"), "disabled_at")
    removed = columns.instant_column(_("removed"), "removed_at")
