"""Dead letters: deliveries that failed for good, to replay, send as new, discard, or mark as fixed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import action as button

from common.admin import columns
from common.admin.base import as_uuid
from common.admin.filters import Period, newest_filter
from notifications import dead_letters, providers
from notifications.admin import cells, confirm, dead_letter_causes
from notifications.admin.delivery import DeliveryRecord
from notifications.admin.intervention import intervene
from notifications.dead_letters import Done
from notifications.models import Delivery, Intervention


class DeadLetter(Delivery):
    """A delivery that is a dead letter, with its own list and permissions."""

    class Meta:
        proxy = True
        verbose_name = "dead letter"


class DiedWithin(Period):
    column = "settled_at"


_STATES = {"dead": "dead", "unknown": "unknown: it may have arrived"}
_PROVIDERS = {provider.kind: provider.label for provider in providers.all()}
# Without a row limit: dead letters have their own index.
DeadState = newest_filter("state", _STATES.items, tuple(_STATES))
DeadProvider = newest_filter("provider", _PROVIDERS.items, tuple(_PROVIDERS))


@admin.register(DeadLetter)
class DeadLetterAdmin(DeliveryRecord):
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
    link_lookups = ("channel__id__exact", "cause")
    empty_text = "No dead letters."
    actions = ("replay", "send_as_new", "discard", "mark_fixed")
    actions_detail = ("replay_one", "send_as_new_one", "discard_one", "mark_fixed_one")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: Any = super().get_queryset(request)
        dead: QuerySet[Any] = rows.dead_letters()
        return dead

    subject = columns.column("subject", "notification.subject", cells.short)

    def get_urls(self) -> list[Any]:
        urls: list[Any] = super().get_urls()
        return dead_letter_causes.urls(self) + urls

    @admin.action(description="Replay: send again", permissions=["act"])
    def replay(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Replay selected rows even if they are stale; skip stale ones if all rows of a filter are selected."""
        count = _selected_count(request, queryset)
        which, skip = _describe(request, count), dead_letters.stale() if _all_selected(request) else None
        done = intervene(request, lambda who: dead_letters.replay(queryset, which, who, skip=skip), "Replayed.")
        self._report(request, done, "will be sent again", count)

    @admin.action(description="Discard…", permissions=["act"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        form = confirm.form(request)
        if not form.is_valid():
            return self._confirm_discard(request, queryset.count(), form)
        count = _selected_count(request, queryset)
        which, reason = _describe(request, count), form.cleaned_data["reason"]
        done = intervene(
            request, lambda who: dead_letters.discard(queryset, which, who, reason), f"Discarded: {reason}"
        )
        self._report(request, done, "discarded", count)
        return None

    @admin.action(description="Send as new: under another key", permissions=["act"])
    def send_as_new(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Tests, and those whose channel cannot be used, are left alone."""
        count = _selected_count(request, queryset)
        which = _describe(request, count)
        done = intervene(request, lambda who: dead_letters.send_as_new(queryset, which, who), "Sent as new.")
        self._report(request, done, "sent as new", count)

    @admin.action(description="Mark as fixed…", permissions=["act"])
    def mark_fixed(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        form = confirm.form(request)
        if not form.is_valid():
            return self._confirm_fixed(request, queryset.count(), form)
        count, note = _selected_count(request, queryset), form.cleaned_data["reason"]
        which, fixed = _describe(request, count), Intervention.What.FIXED
        done = intervene(
            request,
            lambda who: dead_letters.discard(queryset, which, who, note, what=fixed),
            f"Marked as fixed: {note}",
        )
        self._report(request, done, "marked as fixed", count)
        return None

    @button(description="Send as new…", url_path="as-new", icon="outgoing_mail", permissions=["act"])  # type: ignore[untyped-decorator]
    def send_as_new_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if (letter := self.get_object(request, object_id)) is None:
            return redirect("admin:notifications_deadletter_change", object_id)
        return confirm.page(
            self,
            request,
            action="send_as_new",
            title="Send a dead letter as new",
            text=f"{_describe_one(letter)} is sent as a new notification, with another idempotency key, and this "
            "delivery is cancelled. If it already arrived, its reader gets it twice.",
            button="Send as new",
            key=object_id,
        )

    @button(description="Mark as fixed…", url_path="fixed", icon="check", permissions=["act"])  # type: ignore[untyped-decorator]
    def mark_fixed_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if (letter := self.get_object(request, object_id)) is None:
            return redirect("admin:notifications_deadletter_change", object_id)
        return self._confirm_fixed(request, 1, confirm.Reason(), letter)

    @button(description="Replay…", url_path="replay", icon="replay", permissions=["act"])  # type: ignore[untyped-decorator]
    def replay_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if (letter := self.get_object(request, object_id)) is None:
            return redirect("admin:notifications_deadletter_change", object_id)
        return confirm.page(
            self,
            request,
            action="replay",
            title="Replay a dead letter",
            text=f"{_describe_one(letter)} is sent once more, with the same idempotency key. "
            "If it already arrived, receivers that ignore the key show it twice.",
            button="Send again",
            key=object_id,
        )

    @button(description="Discard…", url_path="discard", icon="delete", permissions=["act"])  # type: ignore[untyped-decorator]
    def discard_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if (letter := self.get_object(request, object_id)) is None:
            return redirect("admin:notifications_deadletter_change", object_id)
        return self._confirm_discard(request, 1, confirm.Reason(), letter)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirect to the delivery if it is no longer a dead letter."""
        key = as_uuid(object_id)
        if key is not None and not self.get_queryset(request).filter(pk=key).exists():
            return redirect("admin:notifications_delivery_change", key)
        page: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        return page

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The log belongs to the delivery."""
        return redirect("admin:notifications_delivery_history", object_id)

    def _confirm_discard(
        self, request: HttpRequest, count: int, form: confirm.Reason, letter: Delivery | None = None
    ) -> HttpResponse:
        return confirm.page(
            self,
            request,
            action="discard",
            title="Discard dead letters",
            text=f"{_subject(count, letter)} cancelled with this reason. Nothing is sent.",
            button=f"Discard {count:,}",
            form=form,
            key=None if letter is None else str(letter.pk),
        )

    def _confirm_fixed(
        self, request: HttpRequest, count: int, form: confirm.Reason, letter: Delivery | None = None
    ) -> HttpResponse:
        return confirm.page(
            self,
            request,
            action="mark_fixed",
            title="Mark dead letters as fixed",
            text=f"{_subject(count, letter)} cancelled, with a note of how it was dealt with. Nothing is sent.",
            button=f"Mark {count:,} as fixed",
            form=form,
            key=None if letter is None else str(letter.pk),
        )

    def _report(self, request: HttpRequest, done: Done, what: str, count: int) -> None:
        changed = len(done.changed)
        words = [f"{changed:,} {what}."]
        if done.stale:
            words.append(f"{done.stale:,} {'is' if done.stale == 1 else 'are'} stale and skipped.")
        if missed := count - changed - done.stale:
            words.append(f"{missed:,} had changed and {'was' if missed == 1 else 'were'} skipped.")
        self.message_user(request, " ".join(words), messages.SUCCESS if changed else messages.WARNING)


def _subject(count: int, letter: Delivery | None) -> str:
    if letter is not None:
        return f"{_describe_one(letter)} is"
    return "1 dead letter is" if count == 1 else f"{count:,} dead letters are"


def _describe_one(letter: Delivery) -> str:
    return f"“{letter.notification.subject}” to “{letter.channel.label}” of {letter.notification.user.email}"


def _all_selected(request: HttpRequest) -> bool:
    return request.POST.get("select_across") == "1"


def _selected_count(request: HttpRequest, rows: QuerySet[Any]) -> int:
    """How many rows the operator selected; some may have changed since."""
    return rows.count() if _all_selected(request) else len(set(request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)))


def _describe(request: HttpRequest, count: int) -> str:
    if not _all_selected(request):
        return "one selected" if count == 1 else f"{count} selected"
    return ", ".join(f"{name} {value}" for name, value in request.GET.items()) or "every dead letter"
