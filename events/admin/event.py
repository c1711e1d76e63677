"""Events with their attempts and effects, digests, and the dead letters among them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyInline
from events.kinds.digest import DIGEST
from events.kinds.event import EVENT
from events.models import DeadDigest, DeadLetter, Digest, Effect, Event
from notifications.admin import cells
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


class EffectInline(ReadOnlyInline):
    model = Effect
    fields = ("by_rule", "outcome", "why", "notification")
    ordering = ("id",)
    related = ("rule", "digest")

    why = columns.column(_("reason"), "reason")
    notification = columns.column(_("notification"), "notified_in", cells.to_notification)

    by_rule = columns.column(_("rule"), "", lambda row: columns.to_row("events.rule", row.rule_id, row.rule.name))


class EventEffectInline(ReadOnlyInline):
    """Effects of events on the shown row, newest first."""

    fields: tuple[str, ...] = ("when", "type", "outcome", "why")
    ordering = ("-id",)
    per_page = 20
    related = ("event",)
    deferred = ("event__data",)

    when = columns.instant_column(_("when"), "at")
    why = columns.column(_("why"), "reason")
    type = columns.column(
        _("type of event"), "event", lambda event: columns.to_row("events.event", event.pk, event.type)
    )


@admin.register(Event)
class EventAdmin(WorkAdmin):
    kind = EVENT
    list_display = ("type", "state_label", "why", "source", "person", "occurred", "tries", "available")
    empty_text = _("No event was published yet.")
    about = (("type", "source"), ("person", "occurred"), "trace", "topic", "data")
    technical = (("key", "hops"), "cause")
    search_ids = ("correlation_id",)
    search_help_text = _("A correlation id, or an idempotency key.")

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        return [*super().get_inlines(request, obj), EffectInline]

    trace = columns.column(_("trace"), "", cells.trace)

    occurred = columns.instant_column(_("occurred"), "occurred_at")


@admin.register(DeadLetter)
class DeadEventAdmin(DeadLetterAdmin, EventAdmin):
    list_display = ("type", "state_label", "why", "source", "person", "settled", "tries", "replays")


@admin.register(Digest)
class DigestAdmin(WorkAdmin):
    kind = DIGEST
    list_display: tuple[str, ...] = ("rule_name", "state_label", "why", "person", "gathered", "available", "settled")
    empty_text = _("No rule has gathered events yet.")
    about = (("rule_name", "person"), ("type_pattern", "key_value"), "gathered")
    technical = (("notification_id", "hops"), "cause")
    related = ("user", "rule")
    search_ids = ("notification_id",)
    search_help_text = _("The id of a digest, or of its notification.")

    rule_name = columns.column(_("rule"), "rule.name")


@admin.register(DeadDigest)
class DeadDigestAdmin(DeadLetterAdmin, DigestAdmin):
    list_display = ("rule_name", "state_label", "why", "person", "gathered", "settled", "tries", "replays")
