"""Sign-in by an OpenID provider (OIDC_URL), through allauth: whose account it opens, and what is refused in words."""

from typing import Any, NoReturn

import requests
from allauth.account.internal.userkit import filter_users_by_email
from allauth.account.utils import get_next_redirect_url
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, _build_apps_from_settings
from allauth.socialaccount.internal.flows import connect
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.base.constants import AuthProcess
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext as _

from people.access.requests import PersonRequest, sensitive
from people.models import User
from people.sign_in import mailboxes

PROVIDER = "oidc"


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    """The provider vouches for an address; an account is linked to it only if it has confirmed that address here."""

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[Any]:
        """Those of the settings alone: none is read from the database."""
        apps: dict[str, list[Any]] = _build_apps_from_settings(provider=provider, client_id=client_id)
        return [app for result in apps.values() for app in result]

    def authenticate_by_email(self, sociallogin: Any) -> tuple[User, str] | None:
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True  # some send a text, and "false" is true
        result: tuple[User, str] | None = super().authenticate_by_email(sociallogin)
        return result if result and mailboxes.is_confirmed(result[1], result[0]) else None

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse what allauth would ask a form or send a mail for. Whether sign-up is open (SIGN_UP) it asks itself."""
        if sociallogin.state.get("process") == AuthProcess.CONNECT:
            return  # of who is signed in; allauth refuses one that another account has
        if sociallogin.is_existing:
            if not sociallogin.user.is_active:
                _refuse(request, _("This account is switched off. Ask your administrator."))
            return
        verified = [address.email for address in sociallogin.email_addresses if address.verified]
        if not verified:
            _refuse(
                request, _("The provider does not say that your email address is confirmed. Ask its administrator.")
            )
        if filter_users_by_email(verified[0]):
            _refuse(
                request,
                _("An account has your email address, unconfirmed. Sign in with its password and confirm the address."),
            )

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: Any) -> User:
        user: User = super().populate_user(request, sociallogin, data)
        user.name = "".join(filter(str.isprintable, str(data.get("name") or "")))[:150]
        user.language = get_language() or ""
        return user

    def get_connect_redirect_url(self, *_rest: Any, **_named: Any) -> str:
        return reverse("oidc-link")

    def on_authentication_error(self, request: HttpRequest, *_rest: Any, **_named: Any) -> None:
        _refuse(request, _("The provider did not sign you in. Try again, or use your password."))


def _refuse(request: HttpRequest, text: str) -> NoReturn:
    messages.error(request, text)
    raise ImmediateHttpResponse(redirect("account_login"))


def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the browser to the provider, to sign in."""
    if request.method != "POST" or provider_id != PROVIDER:
        raise Http404
    return _leave_for_provider(request, AuthProcess.LOGIN, get_next_redirect_url(request))


@sensitive
def link(request: PersonRequest) -> HttpResponseBase:
    """Link who is signed in to an account at the provider, whatever its address, or end the link."""
    assert settings.OIDC  # noqa: S101 - else this page has no address
    accounts = SocialAccount.objects.filter(user=request.user)
    if request.method != "POST":
        return render(request, "account/oidc_link.html", {"name": settings.OIDC.name, "is_linked": accounts.exists()})
    here = reverse("oidc-link")
    if "unlink" not in request.POST:
        return _leave_for_provider(request, AuthProcess.CONNECT, here)
    if request.user.has_usable_password():
        for account in accounts:
            connect.disconnect(request, account)
    else:
        messages.error(
            request,
            _("You have no password here. Sign out and use “Forgot your password?” to get one, then end the link."),
        )
    return redirect(here)


def _leave_for_provider(request: HttpRequest, process: str, next_url: str | None) -> HttpResponse:
    try:
        provider = Adapter(request).get_provider(request, PROVIDER)
        response: HttpResponse = provider.redirect(request, process, next_url=next_url)
    except (requests.RequestException, ValueError, KeyError):
        messages.error(request, _("The provider does not answer. Try again later, or use your password."))
        return redirect("account_login" if process == AuthProcess.LOGIN else "oidc-link")
    return response
