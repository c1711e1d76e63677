"""Home page, settings, and refusing emails to an address."""

from __future__ import annotations

from allauth.account.models import EmailConfirmationHMAC
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from common.request_limiter import by_address, limit_page
from people import mailboxes, tokens
from people.forms import SettingsForm
from people.requests import PersonRequest


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("schedules:list")
    return render(request, "people/home.html", {"sign_up": settings.SIGN_UP})


@login_required
def own_settings(request: PersonRequest) -> HttpResponse:
    form = SettingsForm(request.POST if request.method == "POST" else None, instance=request.user)
    if form.is_valid():
        form.save()
        messages.success(request, _("Your settings are saved."))
        return redirect("people:settings")
    # An invalid form has already changed the instance; show the stored values.
    request.user.refresh_from_db()
    return render(request, "people/settings.html", {"form": form, "tokens": tokens.valid_tokens(request.user)})


@require_http_methods(["GET", "HEAD", "POST"])
def refuse_address(request: HttpRequest, key: str) -> HttpResponse:
    """Refuse further emails, or allow them again, by the link in a confirmation email.

    A GET changes nothing, because programs open the links in emails.
    """
    confirmation = EmailConfirmationHMAC.from_key(key)
    if confirmation is None:
        return limit_page(by_address(request), lambda: render(request, "404.html", status=404))
    email = confirmation.email_address.email
    return limit_page(f"refuse:{confirmation.email_address.pk}", lambda: _refuse(request, email))


def _refuse(request: HttpRequest, email: str) -> HttpResponse:
    if request.method == "POST":
        mailboxes.allow(email) if request.POST.get("act") == "allow" else mailboxes.refuse(email)
        return redirect(request.path)
    context = {"email": email, "refused": mailboxes.is_refused(email)}
    return render(request, "people/refuse_address.html", context)
