"""Home page, settings, and refusing emails to an address."""

from allauth.account.models import EmailConfirmationHMAC
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from common.redis.request_limiter import by_address, limit_page
from people import tokens
from people.access.requests import PersonRequest, own_path, person_form, person_page, posted
from people.account.settings_form import SettingsForm
from people.models import Theme, User
from people.sign_in import address_undo, mailboxes, second_factor
from people.web import themes


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("schedules:list")
    return render(request, "people/home.html", {"sign_up": settings.SIGN_UP})


@person_form
def own_settings(request: PersonRequest) -> HttpResponse:
    form = SettingsForm(posted(request), instance=request.user)
    if form.is_valid():
        form.save()
        messages.success(request, _("Your settings are saved."))
        response = redirect("people:settings")
        themes.remember(response, request.user.actor.theme)
        return response
    # An invalid form has already changed the instance; show the stored values.
    request.user.refresh_from_db()
    shown = {
        "form": form,
        "tokens": tokens.valid_tokens(request.user),
        "provider": settings.OIDC and settings.OIDC.name,
    }
    return render(request, "people/settings.html", shown)


@person_page
def security_keys(request: HttpRequest) -> HttpResponse:
    """Instead of allauth's page: the second factor's page lists them."""
    return redirect("mfa_index")


@login_required
@require_GET
def recovery_codes(request: HttpRequest) -> HttpResponse:
    """Show new codes, once, instead of allauth's page, which can show them again."""
    codes = second_factor.take_new_codes(request)
    return render(request, "mfa/recovery_codes/index.html", {"codes": codes}) if codes else redirect("mfa_index")


@csrf_exempt
@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Keep the theme with the account, and in this browser; then return to the page.

    Its form is on public pages, which set no cookie. Another site could change colours, of nobody's account: browsers
    send it no session.
    """
    theme, back = request.POST.get("theme", ""), request.POST.get("next", "")
    if theme not in Theme.values:
        raise BadRequest(_("Choose one of the themes: system, light or dark."))
    if isinstance(request.user, User):
        User.objects.filter(pk=request.user.pk).update(theme=theme)
    response = redirect(own_path(back) or "people:home")
    themes.remember(response, theme)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def undo_address(request: HttpRequest, key: str) -> HttpResponse:
    """Undo a change of the primary address, by the link in the email to the former one. A GET changes nothing."""

    def answer() -> HttpResponse:
        if (change := address_undo.find(key)) is None:
            return render(request, "404.html", status=404)
        if request.method != "POST":
            return render(request, "people/address_undo.html", {"change": change})
        page = address_undo.undo(change, request)
        return redirect(page) if page else render(request, "404.html", status=404)

    return limit_page(by_address(request), answer)


@require_http_methods(["GET", "HEAD", "POST"])
def refuse_address(request: HttpRequest, key: str) -> HttpResponse:
    """Refuse further emails, or allow them again, by the link in a confirmation email.

    A GET changes nothing, because programs open the links in emails.
    """
    if (confirmation := EmailConfirmationHMAC.from_key(key)) is None:
        return limit_page(by_address(request), lambda: render(request, "404.html", status=404))
    email = confirmation.email_address.email

    def answer() -> HttpResponse:
        if request.method == "POST":
            mailboxes.allow(email) if request.POST.get("act") == "allow" else mailboxes.refuse(email)
            return redirect(request.path)
        return render(request, "people/refuse_address.html", {"email": email, "refused": mailboxes.is_refused(email)})

    return limit_page(f"refuse:{confirmation.email_address.pk}", answer)
