"""Reasons as codes with parameters, and the sentences that people read for them. Pure.

The database holds a code and its parameters; a sentence is made only where a person reads it. Nothing compares or
parses a sentence. Parameters may hold what a service said, as data, but never a secret.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from string import Formatter
from typing import Any


class Code(StrEnum):
    # The service answered.
    ACCEPTED = "accepted"
    SAVED = "saved"
    HTTP = "http"
    GONE = "gone"
    REDIRECT = "redirect"
    SMTP = "smtp"
    SMTP_LATER = "smtp-later"
    MAIL_SIGN_IN = "mail-sign-in"
    MAIL_SECURITY = "mail-security"
    BOT_TOKEN = "bot-token"  # noqa: S105 (a code, not a secret)
    TOPIC_TOKEN = "topic-token"  # noqa: S105
    WEBHOOK_TOKEN = "webhook-token"  # noqa: S105
    WEBHOOK_REMOVED = "webhook-removed"
    WORKSPACE_GONE = "workspace-gone"
    CHAT_DELETED = "chat-deleted"
    CHAT_ARCHIVED = "chat-archived"
    RECIPIENT_LEFT = "recipient-left"
    PROHIBITED = "prohibited"
    PROHIBITED_GENERAL = "prohibited-general"
    FORUM = "forum"
    MODERATED = "moderated"
    NO_RIGHTS = "no-rights"
    BLOCKED = "blocked"
    ACCOUNT_GONE = "account-gone"
    NO_CHAT = "no-chat"
    NO_RECIPIENT = "no-recipient"
    NOT_WRITTEN_FIRST = "not-written-first"
    PARTIAL = "partial"
    # No answer came.
    NO_ANSWER = "no-answer"
    INTERIM = "interim"
    UNCONFIRMED = "unconfirmed"
    TIMEOUT = "timeout"
    CONNECTION_REFUSED = "connection-refused"
    UNREACHABLE = "unreachable"
    NAME = "name"
    CERTIFICATE = "certificate"
    TLS = "tls"
    BROKEN = "broken-connection"
    NOT_HTTP = "not-http"
    PROXY = "proxy"
    PRIVATE = "private-network"
    FORBIDDEN = "forbidden-address"
    # The delivery cannot be sent.
    NOT_A_REQUEST = "not-a-request"
    NOT_AN_EMAIL = "not-an-email"
    DAMAGED = "damaged"
    DAMAGED_ROW = "damaged-row"
    UNREADABLE = "unreadable"
    NO_PROVIDER = "no-provider"
    REMOVED = "removed"
    CHANGED = "changed"
    DISABLED = "disabled"
    UNVERIFIED = "unverified"
    # Carillon failed.
    FAULT = "fault"
    STOPPED = "stopped"
    LOST = "lost"
    RELEASED = "released"
    DATABASE_AWAY = "database-away"
    # It waits, or nobody wants it any more.
    QUIET_HOURS = "quiet-hours"
    LIMIT_SERVICE = "limit-service"
    LIMIT_CHANNEL = "limit-channel"
    LIMIT_HOST = "limit-host"
    LIMIT_PERSON = "limit-person"
    STALE = "stale"
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"
    PAUSED = "paused"
    DELETED = "deleted"
    SWITCHED_OFF = "switched-off"
    DISCARDED = "discarded"
    # Another channel is tried.
    BEFORE_FAILED = "before-failed"
    BEFORE_UNKNOWN = "before-unknown"
    NOT_ACKNOWLEDGED = "not-acknowledged"
    # A channel is disabled.
    ADDRESS_GONE = "address-gone"
    SILENT = "silent"
    UNSUBSCRIBED = "unsubscribed"
    NOTE = "note"


SENTENCES: Mapping[str, str] = {
    Code.ACCEPTED: "{status:http}",
    Code.SAVED: "Saved in {folder}.",
    Code.HTTP: "{service} answered {status:http}.",
    Code.GONE: "{service} answered {status:http}: it wants no more messages.",
    Code.REDIRECT: "{service} answered {status:http}. Carillon follows no redirects: give this channel the final"
    " address.",
    Code.SMTP: "The mail server refused the email: {status} {said}",
    Code.SMTP_LATER: "The mail server asked to try later: {status} {said}",
    Code.MAIL_SIGN_IN: "The mail server refused Carillon's sign-in. The operator must correct EMAIL_URL.",
    Code.MAIL_SECURITY: "The mail server does not offer the encryption or sign-in that EMAIL_URL requires.",
    Code.BOT_TOKEN: "Telegram does not know this bot token. Enter a new one on the channel's page.",
    Code.TOPIC_TOKEN: "The server does not let this channel write to its topic. Give the channel an access token.",
    Code.WEBHOOK_TOKEN: "{service} does not accept the webhook's token. Copy its URL again, and change the channel.",
    Code.WEBHOOK_REMOVED: "The webhook was removed in {service}.",
    Code.WORKSPACE_GONE: "The workspace no longer exists.",
    Code.CHAT_DELETED: "The webhook's channel was deleted in {service}.",
    Code.CHAT_ARCHIVED: "The webhook's channel was archived in {service}.",
    Code.RECIPIENT_LEFT: "The webhook's recipient is no longer in the workspace.",
    Code.PROHIBITED: "An administrator of the workspace does not allow this webhook to post.",
    Code.PROHIBITED_GENERAL: "The workspace does not let this webhook post to its general channel.",
    Code.FORUM: "The webhook belongs to a forum, where each message would become a post. Create one in a text channel.",
    Code.MODERATED: "The server's AutoMod blocks the message. Ask the server's administrators to allow it.",
    Code.NO_RIGHTS: "The bot may not write in this chat. Allow it to post; in a channel, make it an administrator.",
    Code.BLOCKED: "The bot was blocked or removed from the chat.",
    Code.ACCOUNT_GONE: "The recipient's Telegram account no longer exists.",
    Code.NO_CHAT: "The bot finds no chat with this id. First send the bot a message, or add it to the group.",
    Code.NO_RECIPIENT: "{service} has no recipient at this address.",
    Code.NOT_WRITTEN_FIRST: "The bot cannot write first. Send it a message in Telegram, then try again.",
    Code.PARTIAL: "{service} accepted only a part of it, or its answer is not understood.",
    Code.NO_ANSWER: "{service} closed the connection without an answer.",
    Code.INTERIM: "{service} only sent an interim answer ({status}).",
    Code.UNCONFIRMED: "The email was sent, and the connection broke before the mail server confirmed it.",
    Code.TIMEOUT: "{service} did not answer within {seconds:number} seconds.",
    Code.CONNECTION_REFUSED: "{service} refused the connection.",
    Code.UNREACHABLE: "{service} could not be reached: {errno:errno}.",
    Code.NAME: "The name of {service} could not be resolved.",
    Code.CERTIFICATE: "{service}'s certificate is not valid: {said}.",
    Code.TLS: "The secure connection to {service} failed.",
    Code.BROKEN: "The connection to {service} broke.",
    Code.NOT_HTTP: "{service}'s answer is not HTTP.",
    Code.PROXY: "The outgoing proxy refused the connection: it answered {answer}.",
    Code.PRIVATE: "The address leads into a private network. Carillon does not post to private networks.",
    Code.FORBIDDEN: "Carillon does not post to this address: it is not a public web address.",
    Code.NOT_A_REQUEST: "This cannot be written as an HTTP request.",
    Code.NOT_AN_EMAIL: "This cannot be written as an email: {error}.",
    Code.DAMAGED: "This channel's {part} is damaged. Remove the channel and add it again.",
    Code.DAMAGED_ROW: "Nothing was sent: what is stored of the reminder, its channel or its person is damaged"
    " ({error}).",
    Code.UNREADABLE: "The channel's secrets cannot be read with the configured encryption keys. Enter them again, or"
    " ask the operator to restore the key.",
    Code.NO_PROVIDER: "There is no provider of the kind “{kind}”.",
    Code.REMOVED: "The channel was removed.",
    Code.CHANGED: "The channel was changed.",
    Code.DISABLED: "The channel is disabled: {why}",
    Code.UNVERIFIED: "The channel has not been verified.",
    Code.FAULT: "Carillon itself failed while it was sending ({kind}: {error}). The channel is not to blame.",
    Code.STOPPED: "The worker was stopped while it was sending.",
    Code.LOST: "The worker was lost while it was sending.",
    Code.RELEASED: "The worker was stopped before it had sent anything.",
    Code.DATABASE_AWAY: "The database went away while this try was being opened.",
    Code.QUIET_HOURS: "Waits until {until}: your quiet hours.",
    Code.LIMIT_SERVICE: "{service} takes {amount:messages} {seconds:period}; {until:turn}.",
    Code.LIMIT_CHANNEL: "{service} takes {amount:messages} {seconds:period} to one channel; {until:turn}.",
    Code.LIMIT_HOST: "{service} takes {amount:messages} {seconds:period} to one host; {until:turn}.",
    Code.LIMIT_PERSON: "You may be sent {amount:messages} {seconds:period}; {until:turn}.",
    Code.STALE: "It was stale before it could be sent.",
    Code.ACKNOWLEDGED: "Acknowledged.",
    Code.SNOOZED: "Snoozed.",
    Code.PAUSED: "The reminder was paused.",
    Code.DELETED: "The reminder was deleted.",
    Code.SWITCHED_OFF: "The account was switched off.",
    Code.DISCARDED: "Discarded: {said}",
    Code.BEFORE_FAILED: "{label} failed: {why}",
    Code.BEFORE_UNKNOWN: "{label} may have failed: {why}",
    Code.NOT_ACKNOWLEDGED: "nobody acknowledged it within {minutes:minutes} of {label}.",
    Code.ADDRESS_GONE: "Its service says that it is gone. {why}",
    Code.SILENT: "Nothing has arrived for {days} days. {why}",
    Code.UNSUBSCRIBED: "You unsubscribed, by the link in a message.",
    Code.NOTE: "{said}",
}

# The parameters that tell the dead letters of one code apart.
_GROUPED_BY: Mapping[str, tuple[str, ...]] = {
    Code.HTTP: ("status",),
    Code.REDIRECT: ("status",),
    Code.SMTP: ("status", "enhanced"),
    Code.SMTP_LATER: ("status", "enhanced"),
    Code.CERTIFICATE: ("number",),
    Code.UNREACHABLE: ("errno",),
    Code.FAULT: ("error",),
}

# A reason may hold the one before it, so many deep: a channel that came after one that was disabled after a 410.
_DEPTH = 5


class Reason:
    """A code and its parameters: JSON values, or other reasons. Its text is the sentence for people."""

    __slots__ = ("code", "params")

    def __init__(self, code: str, /, **params: Any) -> None:
        self.code = code
        self.params = {name: _stored(value) for name, value in params.items()}

    @classmethod
    def read(cls, code: str, params: str) -> Reason:
        """Return the reason of a row, whose parameters are the text of a jsonb."""
        found = json.loads(params)
        return cls(code, **found) if isinstance(found, dict) else cls(code)

    def then(self, following: Reason) -> Reason:
        """Return this reason with another one, whose sentence comes after its own."""
        return Reason(self.code, **self.params, then=following)

    @property
    def json(self) -> str:
        """The parameters, for a column of jsonb."""
        return json.dumps(self.params) if self.params else "{}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.code, self.params) == (other.code, other.params)

    def __hash__(self) -> int:
        return hash((self.code, self.json))

    def __str__(self) -> str:
        return sentence(self.code, self.params)

    def __repr__(self) -> str:
        return f"Reason({self.code!r}, {self.params!r})"


NO_REASON = Reason("")


def sentence(code: str, params: object) -> str:
    """Return the sentence for a stored reason. An unknown code and damaged parameters are readable too."""
    return _sentence(code, params, _DEPTH)


def cause_of(provider: str, reason: Reason, state: str) -> str:
    """Return the group of a dead letter: one provider, one reason and one end. Fit for a URL."""
    details = [str(reason.params[name]) for name in _GROUPED_BY.get(reason.code, ()) if reason.params.get(name)]
    end = "-unknown" if state == "unknown" else ""
    return re.sub(r"[^a-z0-9_-]+", "-", "-".join([provider, reason.code, *details]).lower())[: 64 - len(end)] + end


def status_text(status: object) -> str:
    """Return the HTTP status with its phrase, such as "410 Gone"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"  # type: ignore[arg-type]
    except ValueError:
        return str(status)


def _sentence(code: str, params: object, depth: int) -> str:
    given = dict(params) if isinstance(params, Mapping) else {}
    if depth == 0:
        return "…"
    for name, value in given.items():
        if isinstance(value, Mapping):
            given[name] = _sentence(str(value.get("code")), value.get("params"), depth - 1)
    if code in SENTENCES:
        text = _FORMATTER.vformat(SENTENCES[code], (), given).strip()
    else:
        text = str(given.get("said") or code)
    if text.startswith("the "):
        text = text[0].upper() + text[1:]
    return f"{text} {given['then']}" if "then" in given else text


def _stored(value: Any) -> Any:
    if isinstance(value, Reason):
        return {"code": value.code, "params": value.params}
    # What jsonb cannot hold: NUL and halves of surrogate pairs.
    return re.sub("[\0\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _messages(amount: Any) -> str:
    return f"{amount:,} message{'' if amount == 1 else 's'}"


def _minutes(minutes: Any) -> str:
    return "minute" if minutes == 1 else f"{minutes} minutes"


_PERIODS = {1.0: "a second", 60.0: "a minute", 3_600.0: "an hour", 86_400.0: "a day"}


def _period(seconds: Any) -> str:
    minutes, rest = divmod(seconds, 60)
    return _PERIODS.get(seconds) or (f"in {seconds:g} seconds" if rest else f"in {minutes:g} minutes")


def _turn(until: Any) -> str:
    """None: it would be stale before its turn. Empty: the wait is too short for a time."""
    if until is None:
        return "before its turn it will be stale"
    return f"this one waits until {until}" if until else "this one waits"


_SHOWN = {
    "http": status_text,
    "errno": os.strerror,
    "number": "{:g}".format,
    "messages": _messages,
    "minutes": _minutes,
    "period": _period,
    "turn": _turn,
}


class _Formatter(Formatter):
    """Fills in a sentence; "…" where a parameter is missing, as it stands where it is of another kind."""

    def get_value(self, key: int | str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key), "…")

    def format_field(self, value: Any, format_spec: str) -> str:
        try:
            return _SHOWN[format_spec](value) if format_spec else str(value)
        except (TypeError, ValueError, OverflowError):
            return str(value)


_FORMATTER = _Formatter()
