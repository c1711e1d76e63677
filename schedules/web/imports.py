"""Import a file of another program: upload it, see what each entry becomes, choose channels, import; and undo it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from common.forms.not_possible import NotPossible
from common.redis.request_slots import one_import
from common.texts.refusal import Refusal
from notifications.inputs.channels_form import ChannelsForm
from people.access.requests import PersonRequest, person_form
from people.models import User
from schedules import rules
from schedules.firing import fire
from schedules.inputs.imports import files, items as imports
from schedules.inputs.imports.files import Format
from schedules.inputs.imports.items import LARGEST, Fate, Item
from schedules.job_kinds.calendar_events import ReminderTimes
from schedules.job_kinds.calendar_sync import CalendarForm, causes
from schedules.models import Schedule
from work.reasons import FORMATS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Only calendars and TickTick have alarms and whole days.
_TIMES = ("minutes", "alarms", "all_day_at")


class ImportForm(ChannelsForm, CalendarForm):
    tell = None  # type: ignore[assignment]  # of a calendar that is followed
    # The file itself: nothing is kept between the preview and the import.
    content = forms.CharField(widget=forms.HiddenInput, strip=False)
    format = forms.ChoiceField(label=gettext_lazy("Read as"), choices=Format.choices, required=False)

    def __init__(self, data: Any, user: User, which: Format) -> None:
        super().__init__(data, initial={"format": which, "minutes": 10 if which is Format.CALENDAR else 0})
        if which not in (Format.CALENDAR, Format.TICKTICK):
            for name in _TIMES:
                del self.fields[name]
        self.offer_channels(user, "schedules_schedule")

    def times(self) -> ReminderTimes:
        """Those of a valid form, or the first ones where nobody has sent it yet."""
        fields = {name: CalendarForm.base_fields[name] for name in _TIMES}
        first = {name: field.clean(self.initial.get(name, field.initial)) for name, field in fields.items()}
        values = first | (self.cleaned_data if self.is_bound else {})
        return ReminderTimes(
            before=timedelta(minutes=values["minutes"]), uses_alarms=values["alarms"], all_day_at=values["all_day_at"]
        )

    def sent(self) -> dict[str, Any]:
        """Return the fields of a schedule that say how the reminders of a valid form are sent."""
        how = {name: self.cleaned_data[name] for name in Schedule.SENT_BY if name in self.fields}
        return how | {"channel_order": self.channel_order()}


@person_form
def upload(request: PersonRequest) -> HttpResponse:
    """An uploaded file is shown; the form of that page imports it."""
    if request.method != "POST":
        return _ask(request)
    now = fire.read_clock().now
    try:
        raw = _content(request)
        chosen = request.POST.get("format", "")  # on the page of the preview
        which = Format(chosen) if chosen in {*Format} else files.recognise(raw)
        is_first = "file" in request.FILES or request.POST.get("was", which) != which
        form = ImportForm(None if is_first else request.POST, request.user, which)
        form.initial["content"] = files.shown(raw, which)
        if {"minutes", "all_day_at"} & form.errors.keys():
            return _show(request, form, [])
        items = imports.plan(request.user, files.read(request.user, raw, which, form.times(), now))
    except Refusal as refusal:
        return _ask(request, str(refusal))
    if is_first:
        return _show(request, form, items)
    taken = set(request.POST.getlist("take"))
    if "again" in request.POST:
        form.errors.clear()  # of the channels, which are chosen later
        return _show(request, form, items, taken)
    return _import(request, form, items, taken, now)


def _content(request: PersonRequest) -> bytes:
    """The uploaded file, or the one that the page of its preview sends back. Raises Refusal."""
    file = request.FILES.get("file")
    if file is None:
        if "content" not in request.POST:
            raise Refusal("import_no_file")
        return request.POST["content"].encode()
    if (file.size or 0) > LARGEST:
        raise Refusal("import_large")
    content: bytes = file.read()
    return content


def _import(
    request: PersonRequest, form: ImportForm, items: list[Item], taken: set[str], now: datetime
) -> HttpResponse:
    chosen = [item for item in items if item.key in taken]
    if not chosen:
        form.add_error(None, _("Choose at least one entry."))
    if not form.is_valid():
        return _show(request, form, items, taken)
    try:
        with one_import(request.user.pk):
            made = imports.load(request.user, chosen, form.sent(), form.ordered(), now)
    except NotPossible as refusal:
        form.add_error(None, str(refusal))
        return _show(request, form, items, taken)
    if left := sum(item.values is not None for item in chosen) - made:
        text = ngettext("%(count)d entry is missing.", "%(count)d entries are missing.", left) % {"count": left}
        messages.warning(request, f"{text} " + _("You were changing something elsewhere. Import the file again."))
    return redirect("schedules:imported", (now - _EPOCH) // timedelta(microseconds=1))


@person_form
def imported(request: PersonRequest, at: int) -> HttpResponse:
    """Show the result of an import; a POST removes it again."""
    try:
        instant = _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        raise Http404 from None
    if request.method == "POST":
        count = imports.undo(request.user, instant, fire.read_clock().now)
        text = ngettext("%(count)d reminder is removed again.", "%(count)d reminders are removed again.", count)
        messages.success(request, text % {"count": count})
        return redirect("schedules:list")
    made = list(imports.made_at(request.user, instant).order_by("next_fire_at", "id"))
    return render(request, "schedules/imported.html", {"made": made, "at": at})


def _ask(request: PersonRequest, problem: str = "") -> HttpResponse:
    return render(request, "schedules/import.html", {"problem": problem}, status=422 if problem else 200)


def _show(request: PersonRequest, form: ImportForm, items: list[Item], taken: set[str] | None = None) -> HttpResponse:
    """At first, all new ones are taken."""
    new = [_row(item, taken is None or item.key in taken) for item in items if item.fate is Fate.NEW]
    others = [_row(item, False) for item in items if item.fate is not Fate.NEW]
    listed = causes([(row["item"].title or _("Without a title"), row["text"]) for row in others])
    context = {"form": form, "new": new, "others": others, "count": len(new), "causes": FORMATS["causes"](listed)}
    return render(request, "schedules/import_preview.html", context)


def _row(item: Item, is_taken: bool) -> dict[str, Any]:
    one = item.values
    when = rules.parse(one["kind"], one["rule"], one["time_zone"]).describe() if one else ""
    return {"item": item, "taken": is_taken, "when": when, "text": str(item.fate.label) or item.note}
