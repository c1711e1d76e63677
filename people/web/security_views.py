"""Where a person is signed in, with what happened to the security of their account, and signing out elsewhere."""

import re

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_safe

from people.access.requests import PersonRequest, sensitive
from people.sign_in import security_log, sessions

_SHOWN = 50
# Most browsers also name those that they descend from: the first of these counts.
_BROWSERS = ("Edg", "OPR", "Firefox", "FxiOS", "CriOS", "Chrome", "Safari")
_SYSTEMS = re.compile(r"(Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux)\b")
_NAMES = {"Edg": "Edge", "OPR": "Opera", "FxiOS": "Firefox", "CriOS": "Chrome", "Mac OS X": "macOS", "CrOS": "ChromeOS"}


@login_required
@require_safe
def activity(request: PersonRequest) -> HttpResponse:
    here = request.session.session_key
    signed_in = [
        {"row": row, "browser": browser(row.agent), "handle": sessions.handle(row.pk), "is_here": row.pk == here}
        for row in sessions.of_person(request.user)
    ]
    events = [{"row": row, "browser": browser(row.agent)} for row in security_log.of_person(request.user, _SHOWN)]
    return render(request, "people/activity.html", {"signed_in": signed_in, "events": events})


@sensitive
def sign_out(request: PersonRequest) -> HttpResponse:
    """End the session with the posted handle; without one, all but this one."""
    if request.method != "POST":  # after confirming who they are
        return redirect("people:activity")
    if (wanted := request.POST.get("session")) is None:
        count = sessions.end_others(request.user, request)
    else:
        rows = [row for row in sessions.of_person(request.user) if sessions.handle(row.pk) == wanted]
        count = sum(row.delete()[0] for row in rows)
    if count:
        text = ngettext("%(count)s browser is signed out.", "%(count)s browsers are signed out.", count)
        messages.success(request, text % {"count": count})
    else:
        messages.info(request, _("Nobody was signed in there any more."))
    return redirect("people:activity")


def browser(agent: str) -> str:
    """Such as "Firefox, Linux"; empty if neither is known."""
    name = next((one for one in _BROWSERS if f"{one}/" in agent), "")
    system = match[0] if (match := _SYSTEMS.search(agent)) else ""
    return ", ".join(_NAMES.get(part, part) for part in (name, system) if part)
