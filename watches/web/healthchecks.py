"""Import an export of Healthchecks: upload it, see what each check becomes, choose channels, import."""

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from common.forms import json_file
from common.forms.json_file import MOST, FileRefused
from common.forms.not_possible import NotPossible
from common.parsing.budget import OverBudget
from common.redis.request_slots import one_import
from common.texts.numbers import grouped
from notifications.inputs.channels_form import ChannelsForm
from people.access.requests import PersonRequest, person_form
from people.models import User
from watches import healthchecks, timing


class ImportForm(ChannelsForm):
    content = forms.CharField(widget=forms.HiddenInput, strip=False)

    def __init__(self, data: Any, user: User) -> None:
        super().__init__(data)
        self.offer_channels(user, None, (), "watches_watch")

    def sent(self) -> dict[str, Any]:
        """The channels of a valid form and their order, for the form of each watch."""
        names = ("one_by_one", "escalate_after", "urgent")
        return {name: self.cleaned_data[name] for name in names} | {"channels": [one.id for one in self.ordered()]}


@person_form
def upload(request: PersonRequest) -> HttpResponse:
    """An uploaded file is shown; the form of that page imports it, and shows the address of each watch."""
    if request.method != "POST":
        return _ask(request)
    try:
        content, value = json_file.read(request, _("Choose a file that ends in .json."))
        checks = _checks(value)
        form = ImportForm(None if "file" in request.FILES else request.POST, request.user)
        form.initial["content"] = content
        with one_import(request.user.pk):
            if form.is_valid():
                made = healthchecks.load(request.user, checks, form.sent())
                return render(request, "watches/imported.html", {"made": made})
            planned = healthchecks.plan(request.user, checks, {})
    except (FileRefused, OverBudget) as problem:
        return _ask(request, str(problem))
    except NotPossible as refusal:
        return _ask(request, str(refusal), 429)
    context = {
        "form": form,
        "new": [(one, timing.when(one.watch)) for one in planned if one.form is not None and one.watch is not None],
        "existing": [one.name for one in planned if one.form is None and one.watch is not None],
        "troubles": [(one, *trouble) for one in planned for trouble in one.troubles],
    }
    return render(request, "watches/import_preview.html", context)


def _checks(value: Any) -> list[Any]:
    checks = value.get("checks") if isinstance(value, dict) else value
    if not isinstance(checks, list):
        raise FileRefused(_("There is no list of checks in this file. Export it with GET /api/v3/checks/."))
    if len(checks) > MOST:
        raise FileRefused(_("There are more than %(most)s entries in this file. Split it.") % {"most": grouped(MOST)})
    return checks


def _ask(request: PersonRequest, problem: str = "", status: int = 422) -> HttpResponse:
    return render(request, "watches/import.html", {"problem": problem}, status=status if problem else 200)
