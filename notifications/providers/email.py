"""E-mail, over whichever backend Django is configured with."""

from __future__ import annotations

import re
import smtplib
import ssl
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parseaddr
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.template.loader import render_to_string

from notifications.causes import Code
from notifications.message import Ambiguous, Answer, Delivered, Destination, Message, Rejected, Retryable
from notifications.net import deadline
from notifications.providers.base import Provider, Rate

# The operator's password or server, not the person's address: worth another try, and no reason to give the
# letter up.
_OPERATORS_FAULT = (530, 534, 535, 538)

GOODBYE = 2.0
"""Seconds of the deadline that are kept for QUIT."""


class EmailForm(forms.Form):
    """The address to write to."""

    address = forms.EmailField(
        label="E-mail address",
        widget=forms.EmailInput(attrs={"placeholder": "ada@example.org", "autocomplete": "email"}),
        error_messages={
            "required": "Write an e-mail address, such as ada@example.org.",
            "invalid": "This is not an e-mail address. Write one such as ada@example.org.",
        },
    )

    def clean_address(self) -> str:
        """Return the address. One of a machine's number would have the mail server go wherever a person says."""
        address: str = self.cleaned_data["address"]
        if address.endswith("]"):
            raise ValidationError("Write an address with the name of a domain, such as ada@example.org.")
        return address


class Email(Provider):
    """Writes a mail, as text and as HTML. Mail servers know no keys: a mail whose end is unknown is not sent again."""

    kind = "email"
    label = "E-mail"
    icon = "email"
    position = 10
    recognises_repeats = False
    unsubscribes = True
    deadline = 60.0
    form: ClassVar[type[forms.Form]] = EmailForm

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Return what the operator says of the mail server."""
        most = settings.EMAILS_PER_MINUTE
        return (Rate("email", most, 60.0, "service"),) if most > 0 else ()

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"address"}."""
        return Destination(address={"address": cleaned["address"]})

    def summary(self, destination: Destination) -> str:
        """Return the address itself."""
        return str(destination.address.get("address", ""))

    def notice(self) -> str:
        """Say so where mails go to files."""
        if _writes_files():
            return f"No mail server is configured: mails are written to {_folder()}, not sent."
        return ""

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send it. The Message-ID is made of the message's key, the same at every try."""
        address = str(destination.address.get("address", ""))
        try:
            validate_email(address)
        except ValidationError:
            reason = "This channel's address is not an email address. Remove the channel and add it again."
            return Rejected(reason, code=Code.DAMAGED)
        letter = _letter(message, address)
        try:
            letter.message()
        except ValueError as error:  # BadHeaderError and UnicodeError are of its kind
            return Rejected(f"This cannot be written as a mail: {type(error).__name__}.", code=Code.NOT_WRITABLE)
        connection = mail.get_connection()
        try:
            with deadline.within(self.deadline - GOODBYE):
                try:
                    connection.open()
                except OSError as error:  # every smtplib error is one
                    return _failure(error)
                try:
                    connection.send_messages([letter])
                except OSError as error:
                    # A backend that cannot say how far it got is taken to have got far.
                    return _judge(error, in_doubt=getattr(connection, "in_doubt", True))
            return Delivered(f"Written to {_folder()}." if _writes_files() else "")
        finally:
            # Nothing that the good-bye does changes what became of the mail.
            with deadline.within(GOODBYE), suppress(OSError):
                connection.close()


class _Letter(mail.EmailMultiAlternatives):
    def message(self, **options: Any) -> Any:
        """Keep each header on one line: a folded List-Unsubscribe begins with an empty one, which not all can read."""
        written = super().message(**options)
        written.policy = written.policy.clone(max_line_length=998)  # RFC 5322, 2.1.1
        return written


def _letter(message: Message, address: str) -> mail.EmailMultiAlternatives:
    subject = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", message.subject).split())
    # Django leaves an empty text out, and a mail of HTML alone is taken for an advertisement.
    body, headers = message.body or subject or " ", {"Message-ID": f"<{message.key}@{_domain()}>"}
    if message.answer_url:
        body = f"{body}\n\nAcknowledge or snooze: {message.answer_url}\n"
    if url := message.unsubscribe_url:
        if url not in body:
            body = f"{body}\n\n-- \nStop these messages: {url}\n"
        headers["List-Unsubscribe"] = f"<{url}>"
        if url.startswith("https://"):  # RFC 8058, 3.1: one click needs it
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    letter = _Letter(subject=subject, body=body, to=[address], headers=headers)
    letter.attach_alternative(
        render_to_string("notifications/mail.html", {"subject": subject, "message": message}), "text/html"
    )
    return letter


def _domain() -> str:
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return sender or urlsplit(settings.BASE_URL).hostname or "localhost"


def _writes_files() -> bool:
    return settings.EMAIL_BACKEND.endswith(".filebased.EmailBackend")


def _folder() -> str:
    return "/".join(Path(settings.EMAIL_FILE_PATH).parts[-2:])


def _judge(error: OSError, in_doubt: bool) -> Answer:
    """Judge what went wrong after the connection stood."""
    if in_doubt:
        return Ambiguous("The mail went out, and the connection broke before the mail server said yes or no.")
    code, text = _reply(error)
    if 500 <= code < 600 and code not in _OPERATORS_FAULT:
        # RFC 3463: no such mailbox, mailbox moved, recipient's domain takes no mail
        gone = re.search(r"\b5\.1\.(1|6|10)\b", text) is not None
        return Rejected(f"The mail server refused the mail: {code} {text}".rstrip(), gone, _code(code, text))
    return _failure(error)


def _reply(error: OSError) -> tuple[int, str]:
    """Return the server's code (0 where it gave none) and its words: one line of at most 200 characters."""
    code, text = 0, b""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()))
    elif isinstance(error, smtplib.SMTPResponseException):
        code, raw = error.smtp_code, error.smtp_error
        text = raw if isinstance(raw, bytes) else raw.encode()
    words = re.sub(r"[^\x21-\x7e]+", " ", text.decode("utf-8", "replace"))
    return code, words.strip()[:200]


def _code(status: int, text: str) -> str:
    """Return the code of a reply, with the enhanced status of RFC 3463 where it begins with one."""
    enhanced = re.match(r"[245]\.\d{1,3}\.\d{1,3}\b", text)
    return f"{Code.SMTP}-{status}" + (f"-{enhanced[0]}" if enhanced else "")


def _failure(error: OSError) -> Retryable:
    reason, code = _in_words(error)
    return Retryable(reason, code=code)


def _in_words(error: OSError) -> tuple[str, str]:
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return "The mail server refused Carillon's sign-in. Its operator must correct EMAIL_URL.", Code.MAIL_ACCOUNT
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "The mail server lacks what EMAIL_URL asks of it: encryption or sign-in.", Code.MAIL_ACCOUNT
    code, text = _reply(error)
    if code:
        return f"The mail server said later: {code} {text}".rstrip(), _code(code, text)
    if isinstance(error, ssl.SSLCertVerificationError):
        return "The mail server's certificate is not valid.", Code.CERTIFICATE
    if isinstance(error, ssl.SSLError):
        return "The secure connection to the mail server failed.", Code.TLS
    if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
        return "The mail server did not answer in time.", Code.TIMEOUT
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return "The connection to the mail server broke.", Code.BROKEN
    return "The mail server could not be reached.", Code.UNREACHABLE
