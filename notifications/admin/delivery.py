"""Deliveries with their attempts; and those that failed for good, to replay, send as new, discard, or mark as fixed."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import columns
from common.admin.filters import Period, newest_filter
from notifications import providers
from notifications.admin import cells
from notifications.deliveries.dead_letters import SEND_AS_NEW
from notifications.deliveries.kind import DELIVERY
from notifications.models import Delivery
from people.admin.user import OwnedAdmin, to_person
from work.admin import dead_letter
from work.admin.rows import WorkAdmin


@admin.register(Delivery)
class DeliveryAdmin(WorkAdmin):
    owner = "notification__user"
    related = ("channel", "notification__user")
    kind = DELIVERY
    list_display: tuple[str, ...] = ("subject", "state_label", "why", "person", "to_channel", "tries", "available")
    list_filter = (cells.ProviderFilter, Period)
    link_lookups = ("channel__id__exact", "notification__id__exact")
    empty_text = gettext_lazy(
        "Nothing has been sent yet. A delivery is recorded for each channel when a reminder is due."
    )
    # One that a program pulls has no `wake_at`.
    open = (Q(settled_at=None), Q(settled_at=None))
    about = (("message", "person"), ("to_channel", "provider_name"), ("origin", "read"), "trace")
    search_help_text = gettext_lazy("An idempotency key, or the beginning of a person's email address.")

    search = OwnedAdmin.search

    def handler_label(self, handler: str) -> str:
        return providers.label(handler)

    subject = columns.column(gettext_lazy("subject"), "notification.subject", columns.short)
    message = columns.column(
        gettext_lazy("notification"),
        "notification",
        lambda one: columns.to_row("notifications.notification", one.pk, columns.short(one.subject)),
    )
    person = columns.column(gettext_lazy("person"), "notification.user", to_person)
    to_channel = columns.column(gettext_lazy("channel"), "channel", cells.channel)
    provider_name = columns.column(gettext_lazy("provider"), "provider", providers.label)
    origin = columns.column(gettext_lazy("comes from"), "notification", cells.origin)
    trace = columns.column(gettext_lazy("trace"), "notification", cells.trace)
    read = columns.instant_column(gettext_lazy("read"), "read_at")


class DeadLetter(Delivery):
    class Meta:
        proxy = True
        verbose_name = gettext_lazy("dead letter")
        verbose_name_plural = gettext_lazy("dead letters")


_PROVIDERS = {provider.kind: provider.label for provider in providers.all()}
DeadProvider = newest_filter("provider", _PROVIDERS.items, tuple(_PROVIDERS))


@admin.register(DeadLetter)
class DeadLetterAdmin(dead_letter.DeadLetterAdmin, DeliveryAdmin):
    list_display = (
        "subject",
        "state_label",
        "why",
        "provider_name",
        "to_channel",
        "person",
        "settled",
        "tries",
        "replays",
    )
    newest = ("person", "to_channel", "settled")
    list_filter = (DeadProvider, dead_letter.DiedWithin)
    link_lookups = ("channel__id__exact", "cause")
    actions = ("replay", "send_as_new", "discard", "mark_fixed")
    actions_detail = ("replay_one", "send_as_new_one", "discard_one", "mark_fixed_one")
    send_as_new, send_as_new_one = dead_letter.actions_of(SEND_AS_NEW, "as-new", "outgoing_mail")

    def describe(self, dead_letter: Any) -> str:
        return _("“%(subject)s” to “%(label)s” of %(email)s") % {
            "subject": dead_letter.notification.subject,
            "label": dead_letter.channel.label,
            "email": dead_letter.notification.user.email,
        }

    @admin.display(description=gettext_lazy("repair this first"))
    def repair(self, dead_letter: Any) -> SafeString | str:
        problem = dead_letter.channel.problem("operator")
        return problem and columns.to_row("notifications.channel", dead_letter.channel_id, problem)
