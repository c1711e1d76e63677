"""Deliveries: state, idempotency key and attempts."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import as_uuid
from common.admin.filters import Period
from notifications import providers
from notifications.admin import cells
from notifications.deliveries.kind import DELIVERY
from notifications.models import Delivery
from people.admin.user import person_ids, to_person
from work.admin.rows import WorkAdmin


class DeliveryRecord(WorkAdmin):
    """The common part of deliveries and dead letters."""

    owner = "notification__user"
    related = ("channel", "notification__user")
    kind = DELIVERY
    # One that a program pulls has no `wake_at`.
    open = (Q(settled_at=None), Q(settled_at=None))
    about = (("said", "person"), ("to_channel", "provider_name"), ("origin", "read"), "trace")
    search_help_text = _("An idempotency key, or the beginning of a person's email address.")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        if (key := as_uuid(term)) is not None:
            return rows.filter(pk=key)
        return rows.filter(notification__user__in=person_ids(term))

    def handler_label(self, handler: str) -> str:
        return providers.label(handler)

    subject = columns.column(_("subject"), "notification.subject", columns.short)
    said = columns.column(
        _("notification"),
        "notification",
        lambda one: columns.to_row("notifications.notification", one.pk, columns.short(one.subject)),
    )
    person = columns.column(_("person"), "notification.user", to_person)
    to_channel = columns.column(_("channel"), "channel", cells.channel)
    provider_name = columns.column(_("provider"), "provider", providers.label)
    origin = columns.column(_("comes from"), "notification", cells.origin)
    trace = columns.column(_("trace"), "notification", cells.trace)
    read = columns.instant_column(_("read"), "read_at")


@admin.register(Delivery)
class DeliveryAdmin(DeliveryRecord):
    list_display = ("subject", "state_label", "why", "person", "to_channel", "tries", "available")
    list_filter = (cells.ProviderFilter, Period)
    link_lookups = ("channel__id__exact", "notification__id__exact")
    empty_text = _("Nothing has been sent yet. A delivery is recorded for each channel when a reminder is due.")
