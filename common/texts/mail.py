"""A mail as every part of Carillon sends it."""

from collections.abc import Mapping
from email.header import Header
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives


class Mail(EmailMultiAlternatives):
    """Says that no person wrote it (RFC 3834), so that absence notes do not answer. Errors go to MAIL_RETURN_PATH."""

    def __init__(self, subject: str, body: str, to: str, headers: Mapping[str, str] | None = None) -> None:
        sender = settings.DEFAULT_FROM_EMAIL
        headers = {"From": sender, "Auto-Submitted": "auto-generated", **(headers or {})}
        super().__init__(subject, body, settings.MAIL_RETURN_PATH or sender, [to], headers=headers)

    def message(self, **options: Any) -> Any:
        """Keep each header on one line: a folded List-Unsubscribe starts with an empty one, which some cannot read.

        Only encoded words are folded (RFC 2047, 2): they have at most 75 characters, their lines 76.
        """
        composed = super().message(**options)
        composed.policy = composed.policy.clone(max_line_length=998)  # RFC 5322, 2.1.1
        composed.replace_header("Subject", _encoded("Subject", str(self.subject)))
        if not (name := parseaddr(self.extra_headers["From"])[0]).isascii():
            address = parseaddr(composed["From"])[1]
            composed.replace_header("From", f"{_encoded('From', name)}\n <{address}>")
        return composed


def _encoded(header: str, text: str) -> str:
    if text.isascii() and "=?" not in text:
        return text
    return Header(text, "utf-8", maxlinelen=75, header_name=header).encode()
