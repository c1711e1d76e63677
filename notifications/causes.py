"""Causes of dead letters, as codes: what did not arrive for one reason is one group.

Whoever makes an answer gives it a code, since only there the status or the error is known. No code is read from a
sentence. A reply's own number or word follows a code after a dash: "http-404", "smtp-550-5-1-1", "answer-no_service".
"""

from __future__ import annotations

import re
from enum import StrEnum


class Code(StrEnum):
    # The service answered.
    REFUSED = "refused"
    HTTP = "http"
    SMTP = "smtp"
    ANSWER = "answer"
    TOKEN = "token"  # noqa: S105 (a code, not a secret)
    NO_RIGHTS = "no-rights"
    BLOCKED = "blocked"
    NO_RECIPIENT = "no-recipient"
    NOT_WRITTEN_FIRST = "not-written-first"
    # No answer came.
    NO_ANSWER = "no-answer"
    PARTIAL = "partial"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    NAME = "name"
    CERTIFICATE = "certificate"
    TLS = "tls"
    BROKEN = "broken-connection"
    NOT_HTTP = "not-http"
    PROXY = "proxy"
    FORBIDDEN = "forbidden-address"
    MAIL_ACCOUNT = "mail-account"
    # The channel cannot be used.
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    NOT_WRITABLE = "not-writable"
    REMOVED = "removed"
    DISABLED = "disabled"
    UNVERIFIED = "unverified"
    NO_PROVIDER = "no-provider"
    # Carillon failed.
    FAULT = "fault"
    STOPPED = "stopped"
    LOST = "lost"


def cause_of(provider: str, code: str, state: str) -> str:
    """The group of a dead letter: letters of one provider, one code and one end. Fit for a URL."""
    end = "-unknown" if state == "unknown" else ""
    return re.sub(r"[^a-z0-9_-]+", "-", f"{provider}-{code}".lower())[: 64 - len(end)] + end
