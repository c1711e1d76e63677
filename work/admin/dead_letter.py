"""The base of the admin of a kind's dead letters: its list and its causes, to replay, discard, or mark as fixed."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

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
from work import dead_letters
from work.admin import causes
from work.admin.intervention import intervene
from work.admin.rows import WorkAdmin
from work.dead_letters import Act
from work.models import DEAD_LETTERS, Words


class DiedWithin(Period):
    column = "settled_at"


def actions_of(act: Act, url_path: str, icon: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The action of the list, and the button on a dead letter's page that asks before `act` is done to it."""

    @admin.action(description=act.label, permissions=["act"])
    def do(self: Any, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        return self.act(request, queryset, act)

    @button(description=act.label, url_path=url_path, icon=icon, permissions=["act"])  # type: ignore[untyped-decorator]  # unfold ships no types
    def ask(self: Any, request: HttpRequest, object_id: str) -> Any:
        return self.ask_one(request, object_id, act)

    return do, ask


class DeadLetterAdmin(WorkAdmin):
    """A subclass declares `kind`, and is registered for a proxy of its model that is named `DeadLetter`.

    `newest` are the columns of the newest letters on the page of a cause, behind the first one of the list.
    """

    newest: ClassVar[tuple[str, ...]] = ("person", "why", "settled")
    list_display: tuple[str, ...] = ("state_label", "why", "settled", "tries", "replays", "key")
    list_filter: tuple[type, ...] = (DiedWithin,)
    ordering = ("-settled_at",)
    link_lookups: ClassVar[tuple[str, ...]] = ("cause",)
    empty_text = gettext_lazy("No dead letters.")
    actions: ClassVar[tuple[str, ...]] = ("replay", "discard", "mark_fixed")
    actions_detail: ClassVar[tuple[str, ...]] = ("replay_one", "discard_one", "mark_fixed_one")

    def state_filter(self, words: Words) -> type:
        # Without a row limit: dead letters have their own index.
        return newest_filter("state", lambda: [labelled(state) for state in DEAD_LETTERS], DEAD_LETTERS)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(state__in=DEAD_LETTERS)

    def get_urls(self) -> list[Any]:
        return [*causes.urls(self), *super().get_urls()]

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

    replay, replay_one = actions_of(dead_letters.REPLAY, "replay", "replay")
    discard, discard_one = actions_of(dead_letters.DISCARD, "discard", "delete")
    mark_fixed, mark_fixed_one = actions_of(dead_letters.MARK_FIXED, "fixed", "check")

    def ask_one(self, request: HttpRequest, object_id: str, act: Act) -> HttpResponse:
        """The page that asks before `act` is done to one letter."""
        if (dead_letter := self.get_object(request, object_id)) is None:
            return redirect(f"{self.kind.dead_letters}_change", object_id)
        subject = _("%(letter)s is") % {"letter": self.describe(dead_letter)}
        context = {"form": pages.Reason()} if act.ends else {"warnings": causes.repairs(self, [dead_letter])}
        return self._ask(request, act, 1, subject, key=object_id, **context)

    def ask_all(self, request: HttpRequest, rows: QuerySet[Any], act: Act, form: Any = None) -> HttpResponse:
        """The page that asks before `act` is done to the selected letters."""
        count = rows.count()
        subject = ngettext("%(count)s dead letter is", "%(count)s dead letters are", count) % {"count": grouped(count)}
        context = causes.preview(self, rows, count)
        if form is not None:
            context = {"form": form, "lines": context["lines"]}
        return self._ask(request, act, count, subject, **context)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirect to the row if it is no longer a dead letter."""
        key = as_uuid(object_id)
        if key is not None and not self.get_queryset(request).filter(pk=key).exists():
            return redirect(f"{self.kind.rows}_change", key)
        return super().change_view(request, object_id, *args, **kwargs)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The log belongs to the row."""
        return redirect(f"{self.kind.rows}_history", object_id)

    def act(self, request: HttpRequest, rows: QuerySet[Any], act: Act) -> HttpResponse | None:
        """Act on the selected rows once that is confirmed, and tell the operator how many changed.

        A replay includes stale rows that are selected; of all rows of a filter, it skips them.
        """
        form = pages.reason(request) if act.ends else None
        if not (pages.is_confirmed(request) if form is None else form.is_valid()):
            return self.ask_all(request, rows, act, form)
        how: dict[str, Any] = {} if form is None else {"reason": form.cleaned_data["reason"]}
        if act is dead_letters.REPLAY and _all_selected(request):
            how["skip"] = dead_letters.stale()
        chosen = len(set(request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)))  # some may have changed since
        count = rows.count() if _all_selected(request) else chosen
        do = partial(act.do, rows, _describe(request, count), **how)
        done = intervene(request, self.kind, do, act.log(f": {how['reason']}" if act.ends else "."))
        changed = len(done.changed)
        words = [str(act.result) % {"count": grouped(changed)}]
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
        return None

    def _ask(self, request: HttpRequest, act: Act, count: int, letters: str, **context: Any) -> HttpResponse:
        text, button = str(act.text) % {"letters": letters}, str(act.button) % {"count": grouped(count)}
        title = str(act.title)
        return pages.confirmation(self, request, action=act.name, title=title, text=text, button=button, **context)


def _all_selected(request: HttpRequest) -> bool:
    return request.POST.get("select_across") == "1"


def _describe(request: HttpRequest, count: int) -> str:
    if not _all_selected(request):
        return "one selected" if count == 1 else f"{count} selected"
    return ", ".join(f"{name} {value}" for name, value in request.GET.items()) or "every dead letter"
