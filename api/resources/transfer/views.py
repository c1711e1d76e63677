"""The pages of export and import: download the file; upload one, see what becomes of it, take it over."""

from typing import Any

from django.contrib import messages
from django.db import IntegrityError
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from psycopg.errors import UniqueViolation

from api.resources.transfer import load
from api.resources.transfer.load import Outcome
from api.resources.transfer.sections import SECTIONS
from common.forms import json_file
from common.forms.json_file import FileRefused
from common.forms.not_possible import NotPossible
from common.redis.request_slots import one_import
from people.access.requests import PersonRequest, person_form, sensitive
from people.models import SecurityEvent
from people.sign_in import security_log


@sensitive
def download(request: PersonRequest) -> HttpResponseBase:
    """The answer to the POST is the file. So who had to confirm that it is them comes back to a page."""
    if request.method != "POST":
        return render(request, "people/export.html")
    now = timezone.now()
    name = f"carillon-{timezone.localdate(now)}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    response = HttpResponse(load.written_file(request.user, now), content_type="application/json", headers=headers)
    security_log.record(SecurityEvent.Type.EXPORTED, request.user, request)
    return response


@person_form
def upload(request: PersonRequest) -> HttpResponse:
    """An uploaded file is tried and shown; the form of that page takes it over."""
    if request.method != "POST":
        return _ask(request)
    is_preview = "file" in request.FILES
    try:
        content, value = json_file.read(request, _("Choose a file that Carillon has exported."))
        file = load.check(value)
        with one_import(request.user.pk):
            outcome = (load.preview if is_preview else load.load)(request.user, file)
    except FileRefused as problem:
        return _ask(request, str(problem))
    except NotPossible as refusal:
        return _ask(request, str(refusal), 429)
    except IntegrityError as error:
        if not isinstance(error.__cause__, UniqueViolation):
            raise
        # While Redis is down nobody counts imports, and another one has just written the same entry.
        response = _ask(request, _("Another import of yours is under way. Wait until it has ended."), 409)
        response["Retry-After"] = "5"
        return response
    if not is_preview:
        _report(request, outcome)
        return redirect("schedules:list")
    return render(request, "people/import_preview.html", _shown(outcome) | {"content": content})


def _ask(request: PersonRequest, problem: str = "", status: int = 422) -> HttpResponse:
    return render(request, "people/import.html", {"problem": problem}, status=status if problem else 200)


def _report(request: PersonRequest, outcome: Outcome) -> None:
    count = outcome.added.total()
    text = ngettext("%(count)d entry is imported.", "%(count)d entries are imported.", count)
    messages.success(request, text % {"count": count})
    if outcome.troubles:
        count, why = len({(one.section, one.name) for one in outcome.troubles}), outcome.troubles[0].detail
        warning = ngettext(
            "%(count)d entry was not imported: %(why)s", "%(count)d entries were not imported: %(why)s", count
        )
        messages.warning(request, warning % {"count": count, "why": why})
    if outcome.stopped:
        stopped = _("The import stopped before the end of the file: %(why)s What it has imported stays.")
        messages.warning(request, stopped % {"why": outcome.stopped})
    if outcome.to_confirm:
        names = ", ".join(f"“{name}”" for name in outcome.to_confirm[:10])
        messages.info(request, _("Secrets are not in the file. Open and confirm: %(names)s.") % {"names": names})


def _shown(outcome: Outcome) -> dict[str, Any]:
    names = {"settings": _("Settings")} | {name: str(section.name) for name, section in SECTIONS.items()}
    rows = [
        {"name": name, "added": outcome.added[section], "existing": outcome.existing[section]}
        for section, name in names.items()
        if outcome.added[section] or outcome.existing[section]
    ]
    troubles = [(names[one.section], one, one.field.replace("(body)", "")) for one in outcome.troubles]
    return {"rows": rows, "added": outcome.added.total(), "troubles": troubles, "to_confirm": outcome.to_confirm}


app_name = "transfer"
urlpatterns = [path("settings/export/", download, name="export"), path("settings/import/", upload, name="import")]
