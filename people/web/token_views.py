"""API tokens: make one, which is shown once, and revoke it."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from common.uuid7 import uuid7
from people import tokens
from people.access.requests import PersonRequest, sensitive
from people.models import ApiToken
from people.sign_in import second_factor
from people.web.forms import TokenForm


@sensitive
def create(request: PersonRequest) -> HttpResponse:
    """The answer to the POST shows the token: nothing else holds it, so no other page could."""
    if settings.SECOND_FACTOR_FOR_STAFF and request.user.is_staff and not second_factor.is_set_up(request.user):
        messages.info(request, _("Staff need a second factor. Set one up to make a token."))
        return redirect("mfa_index")
    preset = list(tokens.SCOPES) if request.GET.get("preset") == "all" else ["read"]
    posted = request.POST if request.method == "POST" else None
    form = TokenForm(posted, initial={"scopes": preset, "made_as": uuid7()})
    if form.is_valid():
        made = form.cleaned_data
        try:
            row, token = tokens.create(
                request.user, made["label"], made["scopes"], form.expires_at(timezone.now()), made["made_as"]
            )
        except tokens.TooMany as refusal:
            form.add_error(None, str(refusal))
        except IntegrityError:
            messages.info(
                request, _("This form was already sent. A token is shown once: if you lost it, make another.")
            )
            return redirect(_listed())
        else:
            return render(request, "people/token_made.html", {"row": row, "token": token})
    return render(request, "people/token_new.html", {"form": form, "most": tokens.MOST})


@login_required
def revoke(request: PersonRequest, token_id: UUID) -> HttpResponse:
    token = get_object_or_404(ApiToken, user=request.user, id=token_id)
    if request.method == "POST":
        if tokens.revoke(request.user, token.id):
            messages.success(
                request,
                _("“%(label)s” is revoked. Programs that use it are refused from now on.") % {"label": token.label},
            )
        return redirect(_listed())
    return render(request, "people/token_revoke.html", {"token": token})


def _listed() -> str:
    return f"{reverse('people:settings')}#tokens"
