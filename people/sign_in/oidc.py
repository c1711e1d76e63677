"""Sign-in by an OpenID provider (OIDC_URL), through allauth: whose account it opens, and what is refused in words."""

from typing import Any, NoReturn

import requests
from allauth.account.internal.userkit import filter_users_by_email
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, _build_apps_from_settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import get_language, gettext as _

from people.models import User


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    """The provider vouches for an address; an account is linked to it only if it has confirmed that address here."""

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[Any]:
        """Those of the settings alone: none is read from the database."""
        apps: dict[str, list[Any]] = _build_apps_from_settings(provider=provider, client_id=client_id)
        return [app for found in apps.values() for app in found]

    def authenticate_by_email(self, sociallogin: Any) -> tuple[User, str] | None:
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True  # some send a text, and "false" is true
        found: tuple[User, str] | None = super().authenticate_by_email(sociallogin)
        if found and EmailAddress.objects.filter(user=found[0], email__iexact=found[1], verified=True).exists():
            return found
        return None

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse what allauth would ask a form or send a mail for. Whether sign-up is open (SIGN_UP) it asks itself."""
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

    def on_authentication_error(self, request: HttpRequest, *_rest: Any, **_named: Any) -> None:
        _refuse(request, _("The provider did not sign you in. Try again, or use your password."))


def _refuse(request: HttpRequest, text: str) -> NoReturn:
    messages.error(request, text)
    raise ImmediateHttpResponse(redirect("account_login"))


def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the browser to the provider. What else allauth takes, such as a link to who is signed in, is refused."""
    from allauth.socialaccount.providers.openid_connect import views  # only where its app is installed

    if request.method != "POST" or set(request.GET) - {"next"}:
        raise Http404
    try:
        response: HttpResponse = views.login(request, provider_id)
    except (requests.RequestException, ValueError, KeyError):
        messages.error(request, _("The provider does not answer. Try again later, or use your password."))
        return redirect("account_login")
    return response
