"""Interventions: replays and discards of dead letters, and their results."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import columns
from common.admin.base import ReadOnlyAdmin
from common.texts.numbers import grouped
from common.texts.state_words import state_word
from people.models import User
from work import dead_letters
from work.dead_letters import Done, Which, Who
from work.kinds import KINDS, Kind
from work.models import DEAD_LETTERS, Intervention

_RELOAD = 5  # seconds
_SHOWN = 20


@admin.register(Intervention)
class InterventionAdmin(ReadOnlyAdmin):
    """Its page reloads until all of its work has settled."""

    owner = "by"
    list_display = ("when", "what", "count", "kind", "which", "who", "reason")
    link_lookups = ("cause",)
    fields = (
        ("what", "count"),
        "progress",
        "letters",
        ("who", "when"),
        ("which", "of_cause"),
        "kind",
        "speed",
        "reason",
    )
    empty_text = gettext_lazy("No dead letter was replayed or discarded yet.")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        row = Intervention.objects.filter(pk=object_id).first() if object_id.isdecimal() else None
        if row is not None and row.kind not in KINDS:
            self.message_user(request, _("There is no “%(kind)s” any more.") % {"kind": row.kind}, messages.WARNING)
            return redirect("admin:work_intervention_changelist")
        page: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        if row is not None and _is_open(row, dead_letters.progress(row)):
            page["Refresh"] = str(_RELOAD)
        return page

    when = columns.instant_column(gettext_lazy("when"), "at")

    @admin.display(description=gettext_lazy("cause"))
    def of_cause(self, row: Intervention) -> SafeString:
        if not row.cause:
            return SafeString(columns.NONE)
        return columns.to_page(f"{KINDS[row.kind].dead_letters}_cause", _("cause"), cause=row.cause)

    @admin.display(description=gettext_lazy("rate"))
    def speed(self, row: Intervention) -> str:
        return _("%(count)s a minute") % {"count": grouped(row.per_minute)} if row.per_minute else columns.NONE

    @admin.display(description=gettext_lazy("now"))
    def progress(self, row: Intervention) -> str | SafeString:
        words, counts = KINDS[row.kind].words, dead_letters.progress(row)
        states = {
            state_word("pending"): ["pending"],
            state_word(words.working): [words.working],
            state_word(words.done): [words.done],
            _("failed again"): DEAD_LETTERS,
            _("cancelled or expired"): ["cancelled", "expired"],
        }
        parts = {name: sum(counts.get(state, 0) for state in members) for name, members in states.items()}
        text = ", ".join(f"{grouped(count)} {name}" for name, count in parts.items() if count) + "."
        if not _is_open(row, counts):
            return self._and_others(row, text) if counts.keys() == {words.done} else text
        return _("%(counts)s This page reloads every %(seconds)s s.") % {"counts": text, "seconds": _RELOAD}

    def _and_others(self, row: Intervention, text: str) -> str | SafeString:
        """After one was tried with success: a link to replay the others of its cause."""
        kind = KINDS[row.kind]
        others = Which(kind, cause=row.cause).rows().count() if row.what == Intervention.Action.TESTED else 0
        if not others:
            return text
        label = _("It worked. Replay the other %(count)s …") % {"count": grouped(others)}
        return format_html("{} {}", text, columns.to_page(f"{kind.dead_letters}_cause", label, cause=row.cause))

    @admin.display(description=gettext_lazy("its work"))
    def letters(self, row: Intervention) -> SafeString:
        """Failed work first."""
        model = KINDS[row.kind].model._meta.label_lower
        rows = sorted(
            dead_letters.touched_by(row).order_by("-pk")[:_SHOWN], key=lambda row: row.state not in DEAD_LETTERS
        )
        lines = (
            (columns.to_row(model, row.pk, row.reason or columns.key(row.pk)), state_word(row.state)) for row in rows
        )
        return format_html_join("", "<div>{} ({})</div>", lines)


def _is_open(row: Intervention, counts: dict[str, int]) -> bool:
    return bool(counts.keys() & {"pending", KINDS[row.kind].words.working})


@transaction.atomic
def intervene(request: HttpRequest, kind: Kind[Any], act: Callable[[Who], Done], log_message: str) -> Done:
    """Let the operator act on dead letters, and write it to the log of each row."""
    operator = cast(User, request.user)
    done = act(Who.of(operator))
    LogEntry.objects.log_actions(operator.pk, [kind.model(id=key) for key in done.changed], CHANGE, log_message)
    return done
