"""allauth's hooks: sign-up, messages and emails, and browsers that strangers do not lock out."""

import logging
import secrets
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _, gettext_lazy

from common.texts import languages
from common.texts.mail import Mail
from people.models import SecurityEvent, User, validate_printable
from people.sign_in import address_undo, mailboxes, second_factor, security_log
from people.sign_in.mailboxes import Purpose

_PURPOSES = {
    "account/email/email_confirmation": Purpose.CONFIRMATION,
    "account/email/email_confirmation_signup": Purpose.CONFIRMATION,
    "account/email/account_already_exists": Purpose.CONFIRMATION,
    "account/email/password_reset_key": Purpose.RECOVERY,
    "account/email/unknown_account": Purpose.RECOVERY,
    "account/email/email_changed": Purpose.CHANGED,
    "people/email/team_invitation": Purpose.INVITED,
}
_SAYS_SENT = "account/messages/email_confirmation_sent.txt"
_SAYS_CHANGED, _RESET = "account/messages/password_changed.txt", "account_reset_password_from_key"
# A signed cookie of browsers that have signed in before: wrong passwords of strangers do not lock them out.
_DEVICE = f"{settings.COOKIE_PREFIX}device"
_DEVICE_SALT = "people.devices"
_DEVICE_SECONDS = 180 * 24 * 3600

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    # Both limits count over five minutes at most (ACCOUNT_RATE_LIMITS, "login_failed").
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": gettext_lazy("The email address or the password is wrong."),
        "incorrect_password": gettext_lazy("Wrong password."),
        "too_many_login_attempts": gettext_lazy("Too many failed attempts. Wait five minutes, then try again."),
        "rate_limited": gettext_lazy("Too many attempts. Wait five minutes, then try again."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Whether sign-up is open (SIGN_UP); existing accounts can always sign in."""
        return bool(settings.SIGN_UP)

    def is_safe_url(self, url: str | None) -> bool:
        """Whether a redirect to `url` is allowed; an unreadable URL is not."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def validation_error(self, code: str, *args: Any) -> ValidationError:
        if code in ("too_many_login_attempts", "rate_limited"):
            request = self.request
            signed_in = request.user if request.user.is_authenticated else None
            security_log.record(
                SecurityEvent.Type.LOCKED_OUT,
                signed_in or security_log.find_by_email(request.POST.get("login", "")),
                request,
            )
        return super().validation_error(code, *args)

    def send_password_reset_mail(self, user: User, email: str, context: dict[str, Any]) -> None:
        security_log.record(SecurityEvent.Type.RESET_REQUESTED, user, self.request)
        super().send_password_reset_mail(user, email, context)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count the tries of a browser that has signed in before apart from those of strangers."""
        key = super()._get_login_attempts_cache_key(request, **credentials)
        return f"{key}:{_device(request, str(credentials.get('email', '')))}"

    def post_login(self, request: HttpRequest, user: User, **named: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **named)
        response.set_cookie(
            _DEVICE,
            signing.dumps([user.pk, _device(request, user.email) or secrets.token_urlsafe(12)], salt=_DEVICE_SALT),
            max_age=_DEVICE_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
        if second_factor.lacks_codes(user):
            messages.warning(request, _("You have no recovery codes left. Create new ones: Settings, Second factor."))
        return response

    def can_delete_email(self, email_address: Any) -> bool:
        return bool(super().can_delete_email(email_address)) and not address_undo.is_reserved(email_address)

    def clean_email(self, email: str) -> str:
        validate_printable(email)
        return email

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *rest: Any, **named: Any
    ) -> None:
        """Omit "link sent" if no email was sent, and at sign-up, where it would reveal whether an account exists.

        Who signs up without a mail server could not read the link. After a reset, the next page says that the
        password is saved.
        """
        if message_template == _SAYS_CHANGED and request.resolver_match.url_name == _RESET:  # type: ignore[union-attr]
            return
        if message_template == _SAYS_SENT and (
            getattr(request, "has_unsent_mail", False)
            or (settings.EMAIL_BACKEND.endswith("filebased.EmailBackend") and request.path == reverse("account_signup"))
            or (settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not request.user.is_authenticated)
        ):
            return
        super().add_message(request, level, message_template, *rest, **named)

    def render_mail(self, template_prefix: str, email: str, context: dict[str, Any], headers: Any = None) -> Mail:
        rendered = super().render_mail(template_prefix, email, context, headers)
        return Mail(rendered.subject, rendered.body, email)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send within the limits of the mailbox, with links to BASE_URL.

        If the mail server fails, the change is kept and the person sees a message. Neither errors nor limits reveal to
        a stranger whether an account exists.
        """
        purpose = _PURPOSES.get(template_prefix, Purpose.NOTICE)
        if obstacle := _obstacle(purpose, email):
            self.request.has_unsent_mail = True
            if self.request.user.is_authenticated:  # a stranger would learn of other people's requests
                messages.error(self.request, obstacle)
            return
        if purpose is Purpose.CHANGED and (undo_url := getattr(self.request, "undo_url", "")):
            context = context | {"undo_url": undo_url}
        # allauth builds links from the Host header, whose port a client can choose.
        context = {name: _at_base_url(value) if name.endswith("_url") else value for name, value in context.items()}
        if purpose is Purpose.CONFIRMATION and "key" in context:
            context["refuse_url"] = _at_base_url(reverse("people:refuse-address", args=[context["key"]]))
        # A stranger's request, such as for a new password, is answered in the language of the account.
        language = getattr(context.get("user"), "language", "") or translation.get_language()
        try:
            with languages.override(language):
                super().send_mail(template_prefix, email, context)
        except Exception as error:
            log.error("Cannot send an email (%s): %s", template_prefix, type(error).__name__)
            self.request.has_unsent_mail = True
            messages.error(self.request, _("Carillon could not send an email. Try again in a few minutes."))


def _obstacle(purpose: Purpose, email: str) -> str:
    """Why no email is sent; empty if it is, which is counted."""
    if mailboxes.is_refused(email) and not mailboxes.is_confirmed(email):
        return str(mailboxes.REFUSED)
    if mailboxes.may_send(purpose, mailboxes.mailbox(email)):
        return ""
    return _("The daily limit of emails to this address is reached. Check your mailbox, or try again tomorrow.")


def _device(request: HttpRequest, email: str) -> str:
    """The id of this browser if whose address it is has signed in with it; else empty."""
    try:
        user_id, device = signing.loads(request.COOKIES[_DEVICE], salt=_DEVICE_SALT, max_age=_DEVICE_SECONDS)
    except (KeyError, ValueError, signing.BadSignature):
        return ""
    user = security_log.find_by_email(email)
    return str(device) if user is not None and user.pk == user_id else ""


def _at_base_url(url: str) -> str:
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return f"{settings.BASE_URL}{parts.path}{query}"
