"""Email, through the configured Django backend."""

import re
import smtplib
from contextlib import suppress
from email.errors import MessageError
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.template.loader import render_to_string
from django.utils.encoding import punycode
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop, pgettext

from common.texts.mail import Mail
from notifications.messages import markup
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import as_html
from notifications.net import deadline, post
from notifications.net.failures import describe
from notifications.providers.base import Provider, Rate
from notifications.reasons import DeliveryCode
from people.models import validate_printable
from work.answers import Ambiguous, Answer, Retryable
from work.reasons import NO_REASON, Reason

# Errors of the operator's password or server, not of the person's address: worth another try.
_CONFIGURATION_ERRORS = (530, 534, 535, 538)

QUIT_SECONDS = 2.0
"""The part of the deadline that is kept for QUIT."""


class EmailForm(forms.Form):
    address = forms.EmailField(
        label=gettext_lazy("Email address"),
        widget=forms.EmailInput(attrs={"placeholder": "ada@example.org", "autocomplete": "email"}),
        error_messages={
            "required": gettext_lazy("Enter an email address, such as ada@example.org."),
            "invalid": gettext_lazy("This is not an email address. Enter one such as ada@example.org."),
        },
    )

    def clean_address(self) -> str:
        """Return the address. Refuse an IP address, to which the mail server would connect unchecked."""
        address: str = self.cleaned_data["address"]
        validate_printable(address)
        if address.endswith("]"):
            raise ValidationError(_("Enter an address with a domain name, such as ada@example.org."), "domain_required")
        return address


class Email(Provider):
    """Sends text and HTML. Mail servers take no idempotency key, so a mail with an unknown outcome is not repeated."""

    kind = "email"
    label = gettext_lazy("Email")
    position = 10
    recognises_repeats = False
    unsubscribes = True
    deadline = 60.0
    style = markup.HTML
    form = EmailForm

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The operator's limit for the mail server."""
        most = settings.EMAILS_PER_MINUTE
        return (Rate("email", most, 60.0, "service"),) if most > 0 else ()

    def host(self, destination: Destination) -> str:
        return str(settings.EMAIL_HOST)

    def summary(self, destination: Destination) -> str:
        return str(destination.address.get("address", ""))

    def notice(self) -> str:
        return (
            _("No mail server is configured: emails are saved in %(folder)s, not sent.") % {"folder": _folder()}
            if _writes_files()
            else ""
        )

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send the mail. Its Message-ID holds the message's key, the same at every try."""
        address = str(destination.address.get("address", ""))
        try:
            validate_email(address)
            validate_printable(address)
        except ValidationError:
            return post.damaged("address")
        try:
            composed = _compose(message, address)
            composed.message().as_bytes()
        except (ValueError, MessageError) as error:  # also BadHeaderError and UnicodeError
            return Rejected(Reason(DeliveryCode.NOT_AN_EMAIL, error=type(error).__name__))
        connection = mail.get_connection()
        try:
            with deadline.within(self.deadline - QUIT_SECONDS):
                try:
                    connection.open()
                except OSError as error:  # also every error of smtplib
                    return _retry_later(error)
                try:
                    connection.send_messages([composed])
                except OSError as error:
                    # A backend that does not know how far the mail got may have sent it.
                    return _judge(error, in_doubt=getattr(connection, "in_doubt", True))
            return Delivered(Reason(DeliveryCode.SAVED, folder=_folder()) if _writes_files() else NO_REASON)
        finally:
            # An error of QUIT does not change the outcome.
            with deadline.within(QUIT_SECONDS), suppress(OSError):
                connection.close()


def _compose(message: Message, address: str) -> Mail:
    subject = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", message.subject).split())
    # Django leaves out an empty text, and spam filters distrust HTML alone.
    text, html = message.body, as_html(message.body)
    if message.has_marks:
        text, html = markup.write(text), markup.as_page(text)
    body, headers = text or subject or " ", {"Message-ID": f"<{message.key}@{_domain()}>"}
    links = {_("Done or snooze"): message.answer_url, pgettext("button", "Open"): message.open_url}
    if lines := "".join(f"{label}: {url}\n" for label, url in links.items() if url):
        body = f"{body}\n\n{lines}"
    if footer := _footer(message, body):
        body = "\n".join([f"{body}\n\n-- ", *footer, ""])
    if url := message.unsubscribe_url:
        headers |= {"List-Unsubscribe": f"<{url}>", "List-Id": _list_id(url)}
        if url.startswith("https://"):  # RFC 8058, 3.1 requires https
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    composed = Mail(subject, body, address, headers)
    composed.attach_alternative(
        render_to_string("notifications/mail.html", {"subject": subject, "message": message, "body": html}), "text/html"
    )
    return composed


def _footer(message: Message, body: str) -> list[str]:
    """The team that it is from, and the link that ends such messages unless the text has it."""
    footer = [_("From the team “%(team)s”") % {"team": message.team}] if message.team else []
    if message.unsubscribe_url and message.unsubscribe_url not in body:
        footer.append(_("Stop these messages") + f": {message.unsubscribe_url}")
    return footer


def _list_id(unsubscribe_url: str) -> str:
    """The name of what the link ends (RFC 2919): a channel's messages, a topic, announcements or a status page."""
    path, host = urlsplit(unsubscribe_url).path, urlsplit(settings.BASE_URL).hostname or ""
    kinds = {"leave": "topics", "stop": "announcements", "subscription": "status"}
    kind = kinds.get(path[1:].partition("/")[0], "messages")
    if re.fullmatch(r"[0-9.]+|.*:.*", host):
        host = "localhost"  # no list is named by an IP address
    return f"<{kind}.{punycode(host)}>"


def _domain() -> str:
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return punycode(sender or urlsplit(settings.BASE_URL).hostname or "localhost")


def _writes_files() -> bool:
    return settings.EMAIL_BACKEND.endswith(".filebased.EmailBackend")


def _folder() -> str:
    return "/".join(Path(settings.EMAIL_FILE_PATH).parts[-2:])


def _judge(error: OSError, in_doubt: bool) -> Answer:
    """Return the answer for an error after the connection was open."""
    if in_doubt:
        return Ambiguous(Reason(DeliveryCode.UNCONFIRMED))
    reply = _reply(error)
    status = reply.get("status", 0)
    if 500 <= status < 600 and status not in _CONFIGURATION_ERRORS:
        # RFC 3463: no such mailbox, mailbox moved, recipient's domain takes no mail
        gone = re.search(r"\b5\.1\.(1|6|10)\b", reply["said"]) is not None
        return Rejected(Reason(DeliveryCode.SMTP, **reply), gone)
    return _retry_later(error)


def _reply(error: OSError) -> dict[str, Any]:
    """Return the server's status, its text (one line of at most 200 characters), and the enhanced status of RFC 3463 if
    the text starts with one. Empty without a reply.
    """
    raw: str | bytes
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        status, raw = next(iter(error.recipients.values()))
    elif isinstance(error, smtplib.SMTPResponseException):
        status, raw = error.smtp_code, error.smtp_error
    else:
        return {}
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    line = re.sub(r"[^\x21-\x7e]+", " ", text).strip()[:200]
    enhanced = re.match(r"[245]\.\d{1,3}\.\d{1,3}\b", line)
    return {"status": status, "said": line} | ({"enhanced": enhanced[0]} if enhanced else {})


def _retry_later(error: OSError) -> Retryable:
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return Retryable(Reason(DeliveryCode.MAIL_SIGN_IN))
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return Retryable(Reason(DeliveryCode.MAIL_SECURITY))
    if reply := _reply(error):
        return Retryable(Reason(DeliveryCode.SMTP_LATER, **reply))
    return Retryable(describe(error, gettext_noop("the mail server"), Email.deadline - QUIT_SECONDS))
