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
    """A code, and its sentence with the names of its parameters (see `_SHOWN` for what follows a colon)."""

    text: str

    def __new__(cls, code: str, text: str) -> Code:
        member = str.__new__(cls, code)
        member._value_, member.text = code, text
        return member

    # The service answered.
    ACCEPTED = "accepted", "{status:http}"
    SAVED = "saved", "Saved in {folder}."
    HTTP = "http", "{service} answered {status:http}."
    GONE = "gone", "{service} answered {status:http}: it wants no more messages."
    REDIRECT = (
        "redirect",
        "{service} answered {status:http}. Carillon follows no redirects: give this channel the final address.",
    )
    SMTP = "smtp", "The mail server refused the email: {status} {said}"
    SMTP_LATER = "smtp-later", "The mail server asked to try later: {status} {said}"
    MAIL_SIGN_IN = "mail-sign-in", "The mail server refused Carillon's sign-in. The operator must correct EMAIL_URL."
    MAIL_SECURITY = "mail-security", "The mail server does not offer the encryption or sign-in that EMAIL_URL requires."
    BOT_TOKEN = "bot-token", "Telegram does not know this bot token. Enter a new one on the channel's page."
    TOPIC_TOKEN = (
        "topic-token",
        "The server does not let this channel write to its topic. Give the channel an access token.",
    )
    WEBHOOK_TOKEN = (
        "webhook-token",
        "{service} does not accept the webhook's token. Copy its URL again, and change the channel.",
    )
    WEBHOOK_REMOVED = "webhook-removed", "The webhook was removed in {service}."
    WORKSPACE_GONE = "workspace-gone", "The workspace no longer exists."
    CHAT_DELETED = "chat-deleted", "The webhook's channel was deleted in {service}."
    CHAT_ARCHIVED = "chat-archived", "The webhook's channel was archived in {service}."
    RECIPIENT_LEFT = "recipient-left", "The webhook's recipient is no longer in the workspace."
    PROHIBITED = "prohibited", "An administrator of the workspace does not allow this webhook to post."
    PROHIBITED_GENERAL = "prohibited-general", "The workspace does not let this webhook post to its general channel."
    FORUM = (
        "forum",
        "The webhook belongs to a forum, where each message would become a post. Create one in a text channel.",
    )
    MODERATED = "moderated", "The server's AutoMod blocks the message. Ask the server's administrators to allow it."
    NO_RIGHTS = (
        "no-rights",
        "The bot may not write in this chat. Allow it to post; in a channel, make it an administrator.",
    )
    BLOCKED = "blocked", "The bot was blocked or removed from the chat."
    ACCOUNT_GONE = "account-gone", "The recipient's Telegram account no longer exists."
    NO_CHAT = "no-chat", "The bot finds no chat with this id. First send the bot a message, or add it to the group."
    NO_RECIPIENT = "no-recipient", "{service} has no recipient at this address."
    NOT_WRITTEN_FIRST = (
        "not-written-first",
        "The bot cannot write first. Send it a message in Telegram, then try again.",
    )
    PARTIAL = "partial", "{service} accepted only a part of it, or its answer is not understood."
    # No answer came.
    NO_ANSWER = "no-answer", "{service} closed the connection without an answer."
    INTERIM = "interim", "{service} only sent an interim answer ({status})."
    UNCONFIRMED = "unconfirmed", "The email was sent, and the connection broke before the mail server confirmed it."
    TIMEOUT = "timeout", "{service} did not answer within {seconds:number} seconds."
    CONNECTION_REFUSED = "connection-refused", "{service} refused the connection."
    UNREACHABLE = "unreachable", "{service} could not be reached: {errno:errno}."
    NAME = "name", "The name of {service} could not be resolved."
    CERTIFICATE = "certificate", "{service}'s certificate is not valid: {said}."
    TLS = "tls", "The secure connection to {service} failed."
    BROKEN = "broken-connection", "The connection to {service} broke."
    NOT_HTTP = "not-http", "{service}'s answer is not HTTP."
    PROXY = "proxy", "The outgoing proxy refused the connection: it answered {answer}."
    PRIVATE = "private-network", "The address leads into a private network. Carillon does not post to private networks."
    FORBIDDEN = "forbidden-address", "Carillon does not post to this address: it is not a public web address."
    # The delivery cannot be sent.
    NOT_A_REQUEST = "not-a-request", "This cannot be written as an HTTP request."
    NOT_AN_EMAIL = "not-an-email", "This cannot be written as an email: {error}."
    DAMAGED = "damaged", "This channel's {part} is damaged. Remove the channel and add it again."
    DAMAGED_ROW = (
        "damaged-row",
        "Nothing was sent: what is stored of the reminder, its channel or its person is damaged ({error}).",
    )
    UNREADABLE = (
        "unreadable",
        "The channel's secrets cannot be read with the configured encryption keys. Enter them again, or ask the"
        " operator to restore the key.",
    )
    NO_PROVIDER = "no-provider", "There is no provider of the kind “{kind}”."
    REMOVED = "removed", "The channel was removed."
    CHANGED = "changed", "The channel was changed."
    DISABLED = "disabled", "The channel is disabled: {why}"
    UNVERIFIED = "unverified", "The channel has not been verified."
    # Carillon failed.
    FAULT = "fault", "Carillon itself failed while it was sending ({kind}: {error}). The channel is not to blame."
    STOPPED = "stopped", "The worker was stopped while it was sending."
    LOST = "lost", "The worker was lost while it was sending."
    RELEASED = "released", "The worker was stopped before it had sent anything."
    DATABASE_AWAY = "database-away", "The database went away while this try was being opened."
    # It waits, or nobody wants it any more.
    QUIET_HOURS = "quiet-hours", "Waits until {until}: your quiet hours."
    LIMIT_SERVICE = "limit-service", "{service} takes {amount:messages} {seconds:period}; {until:turn}."
    LIMIT_CHANNEL = "limit-channel", "{service} takes {amount:messages} {seconds:period} to one channel; {until:turn}."
    LIMIT_HOST = "limit-host", "{service} takes {amount:messages} {seconds:period} to one host; {until:turn}."
    LIMIT_PERSON = "limit-person", "You may be sent {amount:messages} {seconds:period}; {until:turn}."
    HOST_BUSY = "host-busy", "{host} gets {amount:messages} at a time; {until:turn}."
    HOST_RESTS = "host-rests", "{host} did not answer five times in a row; {until:turn}."
    GIVEN_UP = "given-up", "Given up after {seconds:duration} without success. {why}"
    STALE = "stale", "It was stale before it could be sent."
    ACKNOWLEDGED = "acknowledged", "Acknowledged."
    SNOOZED = "snoozed", "Snoozed."
    PAUSED = "paused", "The reminder was paused."
    DELETED = "deleted", "The reminder was deleted."
    SWITCHED_OFF = "switched-off", "The account was switched off."
    DISCARDED = "discarded", "Discarded: {said}"
    # Another channel is tried.
    BEFORE_FAILED = "before-failed", "{label} failed: {why}"
    BEFORE_UNKNOWN = "before-unknown", "{label} may have failed: {why}"
    NOT_ACKNOWLEDGED = "not-acknowledged", "nobody acknowledged it within {minutes:minutes} of {label}."
    # A channel is disabled.
    ADDRESS_GONE = "address-gone", "Its service says that it is gone. {why}"
    SILENT = "silent", "Nothing has arrived for {days} days. {why}"
    UNSUBSCRIBED = "unsubscribed", "You unsubscribed, by the link in a message."
    NOTE = "note", "{said}"


_TEXTS = {code.value: code.text for code in Code}

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
    template = _TEXTS.get(code, "")
    text = _FORMATTER.vformat(template, (), given).strip() or str(given.get("said") or code)
    if text.startswith("the "):
        text = text[0].upper() + text[1:]
    return f"{text} {given['then']}" if "then" in given else text


def _stored(value: Any) -> Any:
    if isinstance(value, Reason):
        return {"code": value.code, "params": value.params}
    # jsonb cannot hold NUL and halves of surrogate pairs.
    return re.sub("[\0\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _messages(amount: Any) -> str:
    return f"{amount:,} message{'' if amount == 1 else 's'}"


def _minutes(minutes: Any) -> str:
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def _duration(seconds: Any) -> str:
    amount, unit = next((seconds // size, unit) for size, unit in _UNITS if seconds >= size and seconds % size == 0)
    return f"{amount} {unit}{'' if amount == 1 else 's'}"


_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
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
    "duration": _duration,
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
