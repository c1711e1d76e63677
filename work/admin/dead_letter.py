"""The base of the admin of a kind's dead letters: its list and its causes, to replay, discard, or mark as fixed."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from unfold.decorators import action as button

from common.admin import columns, pages
from common.admin.base import as_uuid
from common.admin.filters import Period, newest_filter
from common.texts.numbers import grouped
from common.texts.state_words import labelled
from common.texts.types import StrOrPromise
from work import dead_letters
from work.admin import causes
from work.admin.intervention import intervene
from work.admin.rows import WorkAdmin
from work.dead_letters import Done, Who
from work.models import DEAD_LETTERS, Intervention, Words

# The actions that ask for a reason, and what the operator is told of so many.
_ENDS = {
    "discard": (Intervention.Action.DISCARDED, gettext_lazy("%(count)s discarded.")),
    "mark_fixed": (Intervention.Action.FIXED, gettext_lazy("%(count)s marked as fixed.")),
}


class Question(NamedTuple):
    """The words of the page that asks before an action. `letters` of its text is how many, with a verb."""

    title: StrOrPromise
    text: StrOrPromise
    button: StrOrPromise


class DiedWithin(Period):
    column = "settled_at"


def action_button(action: str, description: StrOrPromise, url_path: str, icon: str) -> Callable[..., HttpResponse]:
    """The button on a dead letter's page that asks before `action` is done to it."""

    @button(description=description, url_path=url_path, icon=icon, permissions=["act"])  # type: ignore[untyped-decorator]  # unfold ships no types
    def ask(self: Any, request: HttpRequest, object_id: str) -> Any:
        return self.ask_one(request, object_id, action)

    return ask


class DeadLetterAdmin(WorkAdmin):
    """A subclass declares `kind`, and is registered for a proxy of its model that is named `DeadLetter`.

    `newest` are the columns of the newest letters on the page of a cause.
    """

    newest: ClassVar[tuple[str, ...]] = ("why", "settled", "key")
    list_display: ClassVar[tuple[str, ...]] = ("state_label", "why", "settled", "tries", "replays", "key")
    list_filter: tuple[type, ...] = (DiedWithin,)
    ordering = ("-settled_at",)
    link_lookups: ClassVar[tuple[str, ...]] = ("cause",)
    empty_text = gettext_lazy("No dead letters.")
    actions: ClassVar[tuple[str, ...]] = ("replay", "discard", "mark_fixed")
    actions_detail: ClassVar[tuple[str, ...]] = ("replay_one", "discard_one", "mark_fixed_one")
    questions: ClassVar[Mapping[str, Question]] = {
        "replay": Question(
            gettext_lazy("Replay dead letters"),
            gettext_lazy(
                "%(letters)s replayed under the same idempotency key. Effects that already happened may happen twice. "
                "This cannot be undone."
            ),
            gettext_lazy("Replay %(count)s"),
        ),
        "discard": Question(
            gettext_lazy("Discard dead letters"),
            gettext_lazy("%(letters)s cancelled with this reason. Nothing more is done."),
            gettext_lazy("Discard %(count)s"),
        ),
        "mark_fixed": Question(
            gettext_lazy("Mark dead letters as fixed"),
            gettext_lazy("%(letters)s cancelled, with a note of how it was dealt with. Nothing more is done."),
            gettext_lazy("Mark %(count)s as fixed"),
        ),
    }

    def state_filter(self, words: Words) -> type:
        # Without a row limit: dead letters have their own index.
        return newest_filter("state", lambda: [labelled(state) for state in DEAD_LETTERS], DEAD_LETTERS)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(state__in=DEAD_LETTERS)

    def get_urls(self) -> list[Any]:
        urls: list[Any] = super().get_urls()
        return causes.urls(self) + urls

    def describe(self, dead_letter: Any) -> str:
        """The question to its operator."""
        return f"{self.kind.model._meta.verbose_name} {dead_letter}"

    @admin.display(description=gettext_lazy("repair this first"))
    def repair(self, dead_letter: Any) -> SafeString | str:
        """The repair that it needs first, with a link; empty if nothing is known to be broken."""
        return ""

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        return (columns.section(None, "repair"), *fieldsets) if obj is not None and self.repair(obj) else fieldsets

    @admin.action(description=gettext_lazy("Replay…"), permissions=["act"])
    def replay(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Replay selected rows even if they are stale; skip stale ones if all rows of a filter are selected."""
        if not pages.is_confirmed(request):
            return self.ask_all(request, queryset, "replay")
        skip = dead_letters.stale() if _all_selected(request) else None
        act = partial(dead_letters.replay, queryset, skip=skip)
        self.act(request, queryset, act, "Replayed.", _("%(count)s will be replayed."))
        return None

    @admin.action(description=gettext_lazy("Discard…"), permissions=["act"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return self._end(request, queryset, "discard")

    @admin.action(description=gettext_lazy("Mark as fixed…"), permissions=["act"])
    def mark_fixed(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return self._end(request, queryset, "mark_fixed")

    replay_one = action_button("replay", gettext_lazy("Replay…"), "replay", "replay")
    discard_one = action_button("discard", gettext_lazy("Discard…"), "discard", "delete")
    mark_fixed_one = action_button("mark_fixed", gettext_lazy("Mark as fixed…"), "fixed", "check")

    def ask_one(self, request: HttpRequest, object_id: str, action: str) -> HttpResponse:
        """The page that asks before `action` is done to one letter."""
        if (dead_letter := self.get_object(request, object_id)) is None:
            return redirect(f"{self.kind.dead_letters}_change", object_id)
        subject = _("%(letter)s is") % {"letter": self.describe(dead_letter)}
        context = {"form": pages.Reason()} if action in _ENDS else {"warnings": causes.repairs(self, [dead_letter])}
        return self._ask(request, action, 1, subject, key=object_id, **context)

    def ask_all(self, request: HttpRequest, rows: QuerySet[Any], action: str, form: Any = None) -> HttpResponse:
        """The page that asks before `action` is done to the selected letters."""
        count = rows.count()
        subject = ngettext("%(count)s dead letter is", "%(count)s dead letters are", count) % {"count": grouped(count)}
        context = causes.preview(self, rows, count)
        if form is not None:
            context = {"form": form, "lines": context["lines"]}
        return self._ask(request, action, count, subject, **context)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirect to the row if it is no longer a dead letter."""
        key = as_uuid(object_id)
        if key is not None and not self.get_queryset(request).filter(pk=key).exists():
            return redirect(f"{self.kind.rows}_change", key)
        return super().change_view(request, object_id, *args, **kwargs)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The log belongs to the row."""
        return redirect(f"{self.kind.rows}_history", object_id)

    def act(
        self,
        request: HttpRequest,
        rows: QuerySet[Any],
        act: Callable[[str, Who], Done],
        log_message: str,
        sentence: str,
    ) -> None:
        """Act on the selected rows, and tell the operator how many changed, in this `sentence`.

        `act` gets what was selected, in words.
        """
        chosen = len(set(request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)))  # some may have changed since
        count = rows.count() if _all_selected(request) else chosen
        done = intervene(request, self.kind, partial(act, _describe(request, count)), log_message)
        changed = len(done.changed)
        words = [sentence % {"count": grouped(changed)}]
        if done.stale:
            words.append(
                ngettext("%(count)s is stale and skipped.", "%(count)s are stale and skipped.", done.stale)
                % {"count": grouped(done.stale)}
            )
        if missed := count - changed - done.stale:
            words.append(
                ngettext("%(count)s had changed and was skipped.", "%(count)s had changed and were skipped.", missed)
                % {"count": grouped(missed)}
            )
        self.message_user(request, " ".join(words), messages.SUCCESS if changed else messages.WARNING)

    def _end(self, request: HttpRequest, rows: QuerySet[Any], action: str) -> HttpResponse | None:
        form = pages.reason(request)
        if not form.is_valid():
            return self.ask_all(request, rows, action, form)
        reason, (what, sentence) = form.cleaned_data["reason"], _ENDS[action]
        act = partial(dead_letters.discard, rows, reason=reason, what=what)
        self.act(request, rows, act, f"{str(what.label).capitalize()}: {reason}", str(sentence))
        return None

    def _ask(self, request: HttpRequest, action: str, count: int, letters: str, **context: Any) -> HttpResponse:
        title, text, button = map(str, self.questions[action])
        text, button = text % {"letters": letters}, button % {"count": grouped(count)}
        return pages.confirmation(self, request, action=action, title=title, text=text, button=button, **context)


def _all_selected(request: HttpRequest) -> bool:
    return request.POST.get("select_across") == "1"


def _describe(request: HttpRequest, count: int) -> str:
    if not _all_selected(request):
        return "one selected" if count == 1 else f"{count} selected"
    return ", ".join(f"{name} {value}" for name, value in request.GET.items()) or "every dead letter"
