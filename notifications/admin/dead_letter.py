"""Dead letters: deliveries that ended without success and wait for a person, who replays or discards them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from unfold.decorators import action as button

from common.admin.base import as_uuid
from common.admin.filters import Period
from notifications import providers
from notifications.admin import cause, cells, confirm, replay_forms
from notifications.admin.delivery import DeliveryRecord
from notifications.dead_letters import Done
from notifications.models import Delivery


class DeadLetter(Delivery):
    """The admin's name for a delivery that is a dead letter: a list and permissions of its own, the same rows."""

    class Meta:
        proxy = True
        verbose_name = "dead letter"


class DiedWithin(Period):
    column = "settled_at"


class DeadState(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("dead", "dead"), ("unknown", "unknown: it may have arrived")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(state=self.value())


class DeadProvider(admin.SimpleListFilter):
    title = "provider"
    parameter_name = "provider"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(provider.kind, provider.label) for provider in providers.all()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(provider=self.value())


@admin.register(DeadLetter)
class DeadLetterAdmin(DeliveryRecord):
    """The filters need no limit: dead letters have an index of their own."""

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
    list_filter = (DeadState, DeadProvider, DiedWithin)
    ordering = ("-settled_at",)
    arrivals = ("channel__id__exact", "cause")
    nothing = "No dead letters: everything has arrived, or is still on its way."
    actions = ("replay", "discard")
    actions_detail = ("replay_one", "discard_one")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: Any = super().get_queryset(request)
        dead: QuerySet[Any] = rows.dead_letters()
        return dead

    @admin.display(description="what was said")
    def subject(self, letter: DeadLetter) -> SafeString:
        return cells.short(letter.notification.subject)

    def get_urls(self) -> list[Any]:
        urls: list[Any] = super().get_urls()
        return cause.urls(self) + urls

    @admin.action(description="Replay: send again", permissions=["act"])
    def replay(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Who ticks a letter means it; who means all that a filter matches does not mean those that are stale."""
        asked = _asked(request, queryset)
        done = replay_forms.replay(request, queryset, _which(request, asked), even_stale=not _across(request))
        self._tell(request, done, "will be sent again", asked)

    @admin.action(description="Discard…", permissions=["act"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        form = confirm.answer(request)
        if not form.is_valid():
            return self._ask_to_discard(request, queryset.count(), form)
        asked = _asked(request, queryset)
        done = replay_forms.discard(request, queryset, _which(request, asked), form.cleaned_data["reason"])
        self._tell(request, done, "discarded", asked)
        return None

    @button(description="Replay…", url_path="replay", icon="replay", permissions=["act"])  # type: ignore[untyped-decorator]
    def replay_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return confirm.ask(
            self,
            request,
            action="replay",
            title="Replay a dead letter",
            sentence="It is sent again, once, with the same idempotency key. If it did arrive the first time, a "
            "receiver that keeps keys recognises it; any other shows it twice.",
            button="Send again",
            key=object_id,
        )

    @button(description="Discard…", url_path="discard", icon="delete", permissions=["act"])  # type: ignore[untyped-decorator]
    def discard_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._ask_to_discard(request, 1, confirm.Reason(), object_id)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """A dead letter that has been replayed or discarded is shown as the delivery that it is."""
        key = as_uuid(object_id)
        if key is not None and not self.get_queryset(request).filter(pk=key).exists():
            return redirect("admin:notifications_delivery_change", key)
        page: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        return page

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Who did what is kept with the delivery, which remains when the dead letter is gone."""
        return redirect("admin:notifications_delivery_history", object_id)

    def _ask_to_discard(
        self, request: HttpRequest, count: int, form: confirm.Reason, key: str | None = None
    ) -> HttpResponse:
        what = "1 dead letter is" if count == 1 else f"{count:,} dead letters are"
        return confirm.ask(
            self,
            request,
            action="discard",
            title="Discard dead letters",
            sentence=f"{what} given up: nothing is sent, and the delivery is shown as cancelled, with this reason.",
            button=f"Discard {count:,}",
            form=form,
            key=key,
        )

    def _tell(self, request: HttpRequest, done: Done, what: str, asked: int) -> None:
        changed = len(done.changed)
        words = [f"{changed:,} {what}."]
        if done.stale:
            words.append(f"{done.stale:,} {'is' if done.stale == 1 else 'are'} stale and stayed as they were.")
        if missed := asked - changed - done.stale:
            words.append(f"{missed:,} had changed meanwhile and {'was' if missed == 1 else 'were'} left alone.")
        self.message_user(request, " ".join(words), messages.SUCCESS if changed else messages.WARNING)


def _across(request: HttpRequest) -> bool:
    return request.POST.get("select_across") == "1"


def _asked(request: HttpRequest, rows: QuerySet[Any]) -> int:
    """How many rows the operator meant: some may have changed since the list was shown."""
    return rows.count() if _across(request) else len(set(request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)))


def _which(request: HttpRequest, asked: int) -> str:
    if not _across(request):
        return "one chosen" if asked == 1 else f"{asked} chosen one by one"
    return ", ".join(f"{name} {value}" for name, value in request.GET.items()) or "every dead letter"
