"""Bulk actions on reminders of the list, and their undo."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _, ngettext, ngettext_lazy

from common.admin.base import as_uuid
from common.texts.state_words import state_word
from people.access.requests import PersonRequest, person_action
from people.user_lock import with_user_lock
from schedules.changes import bulk, editing
from schedules.changes.bulk import Action, Obstacle
from schedules.firing import fire
from schedules.inputs.list_fields import OneTagField
from schedules.models import Schedule
from schedules.parts import words
from schedules.web.list_filter import ListFilter
from schedules.web.typed import instant

_DONE = {
    Action.PAUSE: ngettext_lazy("%(count)d reminder is paused.", "%(count)d reminders are paused.", "count"),
    Action.RESUME: ngettext_lazy("%(count)d reminder is resumed.", "%(count)d reminders are resumed.", "count"),
    Action.ARCHIVE: ngettext_lazy("%(count)d reminder is archived.", "%(count)d reminders are archived.", "count"),
    Action.UNARCHIVE: ngettext_lazy(
        "%(count)d reminder is back from the archive.", "%(count)d reminders are back from the archive.", "count"
    ),
    Action.DELETE: ngettext_lazy("%(count)d reminder is deleted.", "%(count)d reminders are deleted.", "count"),
    Action.TAG: ngettext_lazy(
        "%(count)d reminder has the tag “%(tag)s” now.", "%(count)d reminders have the tag “%(tag)s” now.", "count"
    ),
    Action.UNTAG: ngettext_lazy(
        "%(count)d reminder has lost the tag “%(tag)s”.", "%(count)d reminders have lost the tag “%(tag)s”.", "count"
    ),
}
_IN_STATE = ngettext_lazy(
    "%(count)d was left out, because it is %(state)s.", "%(count)d were left out, because they are %(state)s.", "count"
)
_LEFT_OUT: dict[str, Any] = {
    Obstacle.TAGGED: ngettext_lazy(
        "%(count)d was left out, because it has this tag already.",
        "%(count)d were left out, because they have this tag already.",
        "count",
    ),
    Obstacle.UNTAGGED: ngettext_lazy(
        "%(count)d was left out, because it does not have this tag.",
        "%(count)d were left out, because they do not have this tag.",
        "count",
    ),
    Obstacle.TOO_MANY_TAGS: ngettext_lazy(
        "%(count)d was left out, because it has as many tags as fit.",
        "%(count)d were left out, because they have as many tags as fit.",
        "count",
    ),
}


class BulkForm(forms.Form):
    """`all`: every reminder that the list's filter finds, on all pages, instead of those chosen."""

    do = forms.ChoiceField(choices=[(one.value, one.value) for one in Action])
    all = forms.BooleanField(required=False)
    tag = OneTagField(required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("do") in {Action.TAG, Action.UNTAG} and "tag" not in self.errors and not cleaned.get("tag"):
            self.add_error("tag", _("Type the tag first."))
        return cleaned


@person_action
@with_user_lock
def act(request: PersonRequest) -> HttpResponse:
    back = _back(request)
    form = BulkForm(request.POST)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, _("Nothing was done: %(error)s") % {"error": " ".join(map(str, errors))})
        return back
    action, tag = Action(form.cleaned_data["do"]), form.cleaned_data["tag"]
    mine = Schedule.objects.for_user(request.user)
    if form.cleaned_data["all"]:
        chosen = list(ListFilter.read(request.user, request.GET).rows().values_list("id", flat=True))
    else:
        chosen = list(filter(None, map(as_uuid, request.POST.getlist("chosen"))))
    now = fire.read_clock().now
    changed, left_out = bulk.apply(mine.filter(id__in=chosen), action, now, request.user, tag)
    if left_out:
        messages.warning(request, " ".join(_left_out(obstacle, count) for obstacle, count in left_out.items()))
    if not changed:
        if not left_out:
            messages.error(request, _("Nothing was done: choose reminders first."))
        return back
    return _back(request, **_undo_query(action, now, tag))


def _left_out(obstacle: str, count: int) -> str:
    return str(_LEFT_OUT.get(obstacle, _IN_STATE) % {"count": count, "state": state_word(obstacle)})


@person_action
@with_user_lock
def undo(request: PersonRequest) -> HttpResponse:
    back = _back(request)
    if (undone := Undo.read(request.POST)) is None:
        messages.error(request, _("Nothing was undone: this page is too old."))
        return back
    if undone.action == Action.DELETE and editing.room(request.user) < undone.count(request):
        messages.error(request, words.limit_reached())
        return back
    count = bulk.undo(request.user, undone.action, undone.at, fire.read_clock().now, undone.tag)
    if count:
        text = ngettext("Undone for %(count)d reminder.", "Undone for %(count)d reminders.", count)
        messages.success(request, text % {"count": count})
    else:
        messages.info(request, _("Nothing was undone: these reminders have changed since."))
    return back


@dataclass(frozen=True, slots=True)
class Undo:
    """The action that a list offers to undo, from its address or from the button."""

    action: Action
    at: datetime
    tag: str

    @classmethod
    def read(cls, typed: QueryDict) -> Undo | None:
        """None for none, and for one that is unreadable."""
        at, action = instant(typed.get("at", "")), typed.get("did", "")
        if at is None or action not in set(Action):
            return None
        return cls(Action(action), at, typed.get("tag_done", "")[:30].replace("\0", ""))

    def count(self, request: PersonRequest) -> int:
        return bulk.changed_by(request.user, self.action, self.at).count()


def offered(request: PersonRequest) -> dict[str, Any]:
    """The context of the list: what was just done, and how to undo it; empty where nothing was."""
    undo = Undo.read(request.GET)
    if undo is None or not (count := undo.count(request)):
        return {}
    return {"undo": undo, "undo_text": str(_DONE[undo.action] % {"count": count, "tag": undo.tag})}


def list_with_undo(action: Action, at: datetime) -> str:
    """The address of the list that offers to undo an action on one reminder."""
    return f"{reverse('schedules:list')}?{urlencode(_undo_query(action, at, ''))}"


def _undo_query(action: Action, at: datetime, tag: str) -> dict[str, str]:
    return {"did": action.value, "at": at.isoformat()} | ({"tag_done": tag} if tag else {})


def _back(request: PersonRequest, **undo: str) -> HttpResponse:
    """The list with its filter and order, without the page and what was done before."""
    query = request.GET.copy()
    for name in ("page", "did", "at", "tag_done", "deleted"):
        query.pop(name, None)
    query.update(undo)
    return redirect(f"{reverse('schedules:list')}?{query.urlencode()}")
