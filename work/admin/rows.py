"""The base of the admin of a kind's rows: their states, counts and instants, their attempts, and what people did."""

from collections.abc import Callable
from types import MethodType
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import AdminSite
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import columns
from common.admin.base import ReadOnlyInline, as_uuid
from common.admin.filters import Period, newest_filter
from common.texts.state_words import labelled
from people.admin.user import OwnedAdmin
from work.kinds import Kind
from work.models import DEAD_LETTERS, Attempt, Intervention, Words


class AttemptInline(ReadOnlyInline):
    verbose_name_plural = gettext_lazy("attempts, including earlier replays")
    fields = ("outcome", "reason", "started", "took", "number", "replay", "worker")
    ordering = ("id",)

    started = columns.instant_column(gettext_lazy("started"), "started_at")

    @admin.display(description=gettext_lazy("took"))
    def took(self, attempt: Attempt) -> str:
        if attempt.finished_at is None:
            return columns.NONE
        return f"{(attempt.finished_at - attempt.started_at).total_seconds():.3f}\N{NO-BREAK SPACE}s"


def state_label(words: Words) -> Callable[[Any, Any], Any]:
    colours = {"pending": "info", words.working: "info", words.done: "success", "dead": "danger", "unknown": "warning"}
    return columns.badge(
        gettext_lazy("state"), "", colours, lambda row: labelled(getattr(row, "shown_state", row.state))
    )


class WorkAdmin(OwnedAdmin):
    """A subclass declares `kind`. `about` are the fields that its row's page shows beside those of all work, and
    `technical` those that it shows last, with the idempotency key. `open` are the conditions of indexes that follow
    from the states of what is pending and what is worked at. Rows are found by their id, or one in `search_ids`.
    """

    kind: ClassVar[Kind[Any]]
    search_ids: ClassVar[tuple[str, ...]] = ()
    about: ClassVar[tuple[str | tuple[str, ...], ...]] = ()
    technical: ClassVar[tuple[str | tuple[str, ...], ...]] = ("cause",)
    open: ClassVar[tuple[Q, Q]] = (Q(wake_at__isnull=False), Q(lease_until__isnull=False))
    list_display: tuple[str, ...] = ("state_label", "why", "tries", "available", "key")
    list_filter: tuple[type, ...] = (Period,)
    search_help_text = gettext_lazy("An idempotency key.")
    state_label: Any

    def __init__(self, model: type[Model], site: AdminSite) -> None:
        super().__init__(model, site)
        self.inlines = (type("Attempts", (AttemptInline,), {"model": self.kind.attempts}),)
        self.list_filter = (self.state_filter(self.kind.words), *self.list_filter)
        self.state_label = MethodType(state_label(self.kind.words), self)

    def state_filter(self, words: Words) -> type:
        # Where only a condition that follows from the state leads PostgreSQL to its partial index.
        implied = dict(zip(("pending", words.working), self.open, strict=True))
        return newest_filter(
            "state",
            lambda: [labelled(state) for state in words.states],
            (*implied, *DEAD_LETTERS),
            lambda state: implied.get(state, Q()) & Q(state=state),
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return (
            columns.section(None, "reason", "state_label", *self.about, "interventions"),
            columns.section(_("Counts"), ("tries", "replays"), ("released", "wakes")),
            columns.section(_("Instants"), ("created", "available"), ("settled", "expires"), ("leased",)),
            columns.section(_("Technical details"), "id", *self.technical),
        )

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        condition = Q(*((name, key) for name in ("pk", *self.search_ids)), _connector=Q.OR)
        return rows.none() if key is None else rows.filter(condition)

    def handler_label(self, handler: str) -> str:
        """The name for people of the code that runs it."""
        return handler

    key = columns.column(gettext_lazy("idempotency key"), "pk", columns.key)
    why = columns.column(gettext_lazy("reason"), "reason", columns.short)
    created = columns.instant_column(gettext_lazy("recorded"), "created_at")
    available = columns.instant_column(gettext_lazy("available"), "available_at")
    expires = columns.instant_column(gettext_lazy("stale after"), "expires_at")
    settled = columns.instant_column(gettext_lazy("settled"), "settled_at")
    leased = columns.instant_column(gettext_lazy("leased until"), "lease_until")

    @admin.display(description=gettext_lazy("interventions"))
    def interventions(self, row: Any) -> SafeString:
        rows = Intervention.objects.filter(items__work_id=row.pk)
        links = ((columns.to_row("work.intervention", one.pk, columns.instant(one.at)), one) for one in rows)
        lines = ((link, one.get_what_display(), one.who, one.reason) for link, one in links)
        return format_html_join("", "<div>{} {} by {}. {}</div>", lines) or SafeString(columns.NONE)
