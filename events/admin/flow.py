"""Runs of flows, their steps, and the dead letters among these."""

from functools import partial
from typing import Any, cast

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import columns
from common.admin.base import ReadOnlyInline
from common.admin.filters import newest_filter
from events.admin.event import EventEffectInline
from events.kinds.step import STEP
from events.models import FailedStep, FlowEffect, Run, Step
from events.runs import changes
from notifications.admin import cells
from people.admin.user import OwnedAdmin
from people.models import User
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.intervention import intervene
from work.admin.rows import WorkAdmin, state_label
from work.dead_letters import MARK_FIXED, Who


class StepInline(ReadOnlyInline):
    model = Step
    fields = ("name", "step_key", "state_label", "why", "tries")
    per_page = 20

    step_key = columns.column(gettext_lazy("key"), "key", columns.short)
    state_label = state_label(STEP.words)
    why = columns.column(gettext_lazy("reason"), "reason", columns.short)
    name = columns.column(gettext_lazy("step"), "", lambda row: columns.to_row("events.step", row.pk, row.name))


class RunEffectInline(EventEffectInline):
    model = FlowEffect


@admin.register(Run)
class RunAdmin(OwnedAdmin):
    list_display = ("flow", "key_short", "person", "state_label", "why", "applied", "changed")
    list_disable_select_all = True  # each is ended in its own transaction
    list_filter = (newest_filter("status", lambda: list(Run.Status.choices)),)
    fieldsets = (
        columns.section(None, ("flow", "key"), ("person", "state_label"), "why", "trace"),
        columns.section(gettext_lazy("Now"), "state", ("waits_for", "until"), ("applied", "begun")),
        columns.section(gettext_lazy("Its row"), ("id", "version"), ("created", "changed")),
    )
    inlines = (StepInline, RunEffectInline)
    empty_text = gettext_lazy("No flow has handled an event yet.")
    actions = ("end",)

    @admin.action(description=gettext_lazy("End"), permissions=["act"])
    def end(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        chosen, operator = list(queryset), cast(User, request.user)
        ended = [run for run in chosen if changes.end(run, Who.of(operator), "")]
        self.log_many(request, ended, "Ended.")
        done, skipped = _("%(count)s ended."), _("%(count)s skipped: ended before.")
        self.tell_changed(request, len(chosen), len(ended), done, skipped)

    key_short = columns.column(gettext_lazy("key"), "key", columns.short)
    why = columns.column(gettext_lazy("reason"), "reason", columns.short)
    until = columns.instant_column(gettext_lazy("until"), "wait_until")
    changed = columns.instant_column(gettext_lazy("changed"), "changed_at")
    state_label = columns.badge(
        gettext_lazy("state"), "status", {"open": "info", "waiting": "info", "finished": "success", "stopped": "danger"}
    )
    trace = columns.column(gettext_lazy("trace"), "", cells.trace)


@admin.register(Step)
class StepAdmin(WorkAdmin):
    kind = STEP
    list_display: tuple[str, ...] = ("handler", "of_run", "state_label", "why", "person", "tries", "available")
    empty_text = gettext_lazy("No flow has begun a step yet.")
    about = (("handler", "step_key"), ("person", "of_run"), "trace", "input", "result")
    technical = (("hops",), "cause")
    related = ("user", "run")
    search_ids = ("run_id",)
    search_help_text = gettext_lazy("The id of a run, or an idempotency key.")

    step_key = columns.column(gettext_lazy("key"), "key", columns.short)
    of_run = columns.column(gettext_lazy("run"), "", lambda row: columns.to_row("events.run", row.run_id, str(row.run)))
    trace = columns.column(gettext_lazy("trace"), "", cells.trace)


@admin.register(FailedStep)
class FailedStepAdmin(DeadLetterAdmin, StepAdmin):
    list_display = ("handler", "of_run", "state_label", "why", "person", "settled", "tries", "replays")
    newest = ("of_run", "why", "settled")
    actions = (*DeadLetterAdmin.actions, "skip")

    @admin.action(description=gettext_lazy("Skip: let the run go on without"), permissions=["act"])
    def skip(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        count = queryset.count()
        skip = partial(MARK_FIXED.do, queryset, "chosen steps", reason="Skipped.")
        changed = intervene(request, self.kind, skip, "Skipped.").changed
        self.tell_changed(request, count, len(changed), _("%(count)s skipped."), _("%(count)s were none any more."))
