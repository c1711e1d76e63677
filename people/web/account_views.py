"""Pages of an account: its activity and sessions, the download of all that is stored, its deletion, its API tokens."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from tempfile import TemporaryFile
from typing import IO, Any
from uuid import UUID

from allauth.account.adapter import get_adapter
from django import forms
from django.apps import apps
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from common.admin.base import count_up_to
from common.database import replica
from common.forms.not_possible import shown_in
from common.redis import rate_limiter
from common.uuid7 import uuid7
from people import tokens
from people.access.requests import PersonRequest, person_form, person_page, posted, sensitive
from people.account import deletion, export
from people.account.token_form import TokenForm
from people.models import ApiToken, SecurityEvent, User
from people.sign_in import second_factor, security_log, sessions

_DOWNLOADS_AN_HOUR = 5
_COUNTED = 10_000
_PIECE = 256 * 1024  # bytes

_SHOWN = 50
# Most browsers also name those that they descend from: the first of these counts.
_BROWSERS = ("Edg", "OPR", "Firefox", "FxiOS", "CriOS", "Chrome", "Safari")
_SYSTEMS = re.compile(r"(Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux)\b")
_NAMES = {"Edg": "Edge", "OPR": "Opera", "FxiOS": "Firefox", "CriOS": "Chrome", "Mac OS X": "macOS", "CrOS": "ChromeOS"}


@sensitive
def download(request: PersonRequest) -> HttpResponseBase:
    """The answer to the POST is the zip. It is written to a file first: a slow reader would hold a connection."""
    if request.method != "POST":
        return render(request, "people/account_download.html")
    if not rate_limiter.allows(f"account-download:{request.user.pk}", _DOWNLOADS_AN_HOUR, 3_600.0):
        text = _("You have downloaded your data %(count)d times within an hour, which is the limit. Wait an hour.")
        messages.error(request, text % {"count": _DOWNLOADS_AN_HOUR})
        return redirect("people:account-download")
    file = TemporaryFile()  # noqa: SIM115 - `_Pieces` closes it
    replica.read(lambda: export.write(request.user, file))
    security_log.record(SecurityEvent.Type.EXPORTED, request.user, request)
    size = file.tell()
    file.seek(0)
    name = f"carillon-account-{timezone.localdate()}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Length": str(size)}
    return StreamingHttpResponse(_Pieces(file), content_type="application/zip", headers=headers)


class _Pieces:
    """Of a file. It has no `close`: a response is closed before it streams (config/asgi.py)."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __del__(self) -> None:
        self._file.close()  # also where nobody has read it

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(self._file.read, _PIECE):
            yield piece


class DeleteForm(forms.Form):
    email = forms.CharField(
        label=gettext_lazy("Your email address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        error_messages={"required": gettext_lazy("Type the email address with which you sign in.")},
    )

    def __init__(self, posted: Any, user: User) -> None:
        super().__init__(posted)
        self._user = user
        # Help texts may hold markup, and an address such as "<b>"@example.org is valid.
        self.fields["email"].help_text = _("Type %(email)s to confirm.") % {"email": escape(user.email)}

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if email.strip().lower() != self._user.email.lower():
            text = _("This is not the address of this account. Type %(email)s.")
            raise ValidationError(text % {"email": self._user.email})
        return email


@sensitive
def delete(request: PersonRequest) -> HttpResponseBase:
    """Ask, then switch the account off and sign out. A task deletes it."""
    form = DeleteForm(posted(request), request.user)
    if form.is_valid():
        with shown_in(form):
            deletion.request(request.user)
            security_log.record(SecurityEvent.Type.DELETION_ASKED, request.user, request)
            get_adapter(request).send_mail("people/email/account_deleted", request.user.email, {})
            logout(request)
            messages.success(request, _("Your account is deleted. Its data is erased within minutes."))
            return redirect("people:home")
    return render(request, "people/account_delete.html", {"form": form, "counts": _counts(request.user)})


def _counts(user: User) -> list[str]:
    """Return the number of rows that will be deleted."""
    shown = []
    for label, words in _WORDS.items():
        model: Any = apps.get_model(label)
        ended = {"deleted_at", "removed_at", "left_at"} & {field.name for field in model._meta.concrete_fields}
        if count := count_up_to(model.objects.filter(user=user, **dict.fromkeys(ended)), _COUNTED):
            shown.append(words(count) % {"count": f"{count}"})
    return shown


_WORDS: dict[str, Callable[[int], str]] = {
    "schedules.Schedule": lambda n: ngettext("%(count)s reminder", "%(count)s reminders", n),
    "watches.Watch": lambda n: ngettext("%(count)s watch", "%(count)s watches", n),
    "events.Rule": lambda n: ngettext("%(count)s rule", "%(count)s rules", n),
    "notifications.Channel": lambda n: ngettext("%(count)s channel", "%(count)s channels", n),
    "jobs.Connection": lambda n: ngettext("%(count)s connection", "%(count)s connections", n),
    "notifications.Notification": lambda n: ngettext(
        "%(count)s message with its history", "%(count)s messages with their history", n
    ),
    "events.Event": lambda n: ngettext("%(count)s event", "%(count)s events", n),
    "events.InboundAddress": lambda n: ngettext("%(count)s inbound address", "%(count)s inbound addresses", n),
    "events.Topic": lambda n: ngettext(
        "%(count)s topic, whose subscribers are told nothing more",
        "%(count)s topics, whose subscribers are told nothing more",
        n,
    ),
    "events.Subscription": lambda n: ngettext("%(count)s subscription", "%(count)s subscriptions", n),
    "people.ApiToken": lambda n: ngettext("%(count)s API token", "%(count)s API tokens", n),
}
"""By the model's label: this app knows the others by name only."""


@person_page
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


@sensitive
def create_token(request: PersonRequest) -> HttpResponse:
    """The answer to the POST shows the token: nothing else holds it, so no other page could."""
    maker = request.user.actor
    if settings.SECOND_FACTOR_FOR_STAFF and maker.is_staff and not second_factor.is_set_up(maker):
        messages.info(request, _("Staff need a second factor. Set one up to create a token."))
        return redirect("mfa_index")
    preset = tokens.GIVEN if request.GET.get("preset") == "all" else ["read"]
    form = TokenForm(posted(request), initial={"scopes": preset, "made_as": uuid7()})
    if form.is_valid():
        made = form.cleaned_data
        ends = form.expires_at(timezone.now())
        try:
            with shown_in(form):
                row, token = tokens.create(request.user, made["label"], made["scopes"], ends, made["made_as"])
                return render(request, "people/token_made.html", {"row": row, "token": token})
        except IntegrityError:
            messages.info(
                request, _("This form was already sent. A token is shown once: if you lost it, make another.")
            )
            return redirect(_tokens())
    return render(request, "people/token_new.html", {"form": form, "most": tokens.MOST})


@person_form
def revoke_token(request: PersonRequest, token_id: UUID) -> HttpResponse:
    token = get_object_or_404(ApiToken, user=request.user, id=token_id)
    if request.method == "POST":
        if tokens.revoke(request.user, token.id):
            text = _("“%(label)s” is revoked. Programs that use it are refused from now on.")
            messages.success(request, text % {"label": token.label})
        return redirect(_tokens())
    return render(request, "people/token_revoke.html", {"token": token})


def _tokens() -> str:
    return f"{reverse('people:settings')}#tokens"
