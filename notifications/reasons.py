"""The codes of notifications and channels, and their sentences. Pure."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import Any

from work.reasons import FORMATS, Codes


class Code(Codes):
    """Its sentences have the names of its parameters; see `FORMATS` for what follows a colon."""

    # The service answered.
    ACCEPTED = "accepted", "{status:http}"
    SAVED = "saved", "Saved in {folder}."
    HTTP = "http", "{service} answered {status:http}.", "status"
    GONE = "gone", "{service} answered {status:http}: it wants no more messages."
    REDIRECT = (
        "redirect",
        "{service} answered {status:http}. Carillon follows no redirects: give this channel the final address.",
        "status",
    )
    SMTP = "smtp", "The mail server refused the email: {status} {said}", "status", "enhanced"
    SMTP_LATER = "smtp-later", "The mail server asked to try later: {status} {said}", "status", "enhanced"
    MAIL_SIGN_IN = "mail-sign-in", "The mail server refused Carillon's sign-in. The operator must correct EMAIL_URL."
    MAIL_SECURITY = "mail-security", "The mail server does not offer the encryption or sign-in that EMAIL_URL requires."
    BOT_TOKEN = "bot-token", "Telegram does not know this bot token. Enter a new one on the channel's page."
    TOPIC_TOKEN = (
        "topic-token",
        "The server does not let this channel write to its topic. Give the channel an access token.",
    )
    ACCESS_TOKEN = "access-token", "{service} does not accept the access token. Enter a new one on the channel's page."
    NOT_IN_ROOM = (
        "not-in-room",
        "The account may not write in this room. Invite it, join the room with it, and allow it to send messages.",
    )
    WEBHOOK_TOKEN = (
        "webhook-token",
        "{service} does not accept the webhook's token. Copy its URL again, and change the channel.",
    )
    WEBHOOK_REMOVED = "webhook-removed", "The webhook was removed in {service}."
    SUBSCRIPTION_ENDED = (
        "subscription-ended",
        "The browser takes no more messages: its notifications were turned off, or its data was cleared. Open Carillon"
        " there and press “Ring in this browser”.",
    )
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
    UNREACHABLE = "unreachable", "{service} could not be reached: {errno:errno}.", "errno"
    NAME = "name", "The name of {service} could not be resolved."
    CERTIFICATE = "certificate", "{service}'s certificate is not valid: {said}.", "number"
    TLS = "tls", "The secure connection to {service} failed."
    BROKEN = "broken-connection", "The connection to {service} broke."
    NOT_HTTP = "not-http", "{service}'s answer is not HTTP."
    PROXY = "proxy", "The outgoing proxy refused the connection: it answered {answer}."
    PRIVATE = (
        "private-network",
        "The address is inside a private network. Use a public one, or ask the operator to add its network to"
        " ALLOWED_NETWORKS.",
    )
    FORBIDDEN = "forbidden-address", "Carillon does not connect to this address. Use a public web address."
    # A program pulled it.
    PULLED = "pulled", "Programs pull this queue; no worker sends to it."
    RETURNED = "returned", "The program returned it for another try."
    NOT_ACKED = "not-acked", "The program did not acknowledge it before its lease ended."
    # The delivery cannot be sent.
    NOT_A_REQUEST = "not-a-request", "This cannot be written as an HTTP request."
    NOT_AN_EMAIL = "not-an-email", "This cannot be written as an email: {error}."
    DAMAGED = "damaged", "This channel's {part} is damaged. Remove the channel and add it again."
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
    # It waits, or nobody wants it any more.
    QUIET_HOURS = "quiet-hours", "Waits until {until}: your quiet hours."
    LIMIT_SERVICE = "limit-service", "{service} takes {amount:messages} {seconds:period}; {until:turn}."
    LIMIT_CHANNEL = "limit-channel", "{service} takes {amount:messages} {seconds:period} to one channel; {until:turn}."
    LIMIT_HOST = "limit-host", "{service} takes {amount:messages} {seconds:period} to one host; {until:turn}."
    LIMIT_PERSON = "limit-person", "You may be sent {amount:messages} {seconds:period}; {until:turn}."
    HOST_BUSY = "host-busy", "{host} gets {amount:messages} at a time; {until:turn}."
    HOST_RESTS = "host-rests", "{host} did not answer five times in a row; {until:turn}."
    GIVEN_UP = "given-up", "Given up after {seconds:duration} without success. {why}"
    ACKNOWLEDGED = "acknowledged", "Acknowledged."
    SNOOZED = "snoozed", "Snoozed."
    PAUSED = "paused", "The reminder was paused."
    DELETED = "deleted", "The reminder was deleted."
    RULE_OFF = "rule-switched-off", "The rule was switched off."
    RULE_DELETED = "rule-withdrawn", "The rule was deleted."
    MENDED = "mended", "It was mended, so this notice was dropped."
    LEFT = "left", "You unsubscribed from its topic."
    STOPPED = "stopped-announcements", "You stopped these announcements."
    CANCELLED = "cancelled", "Its owner cancelled it."
    SENT_AS_NEW = "sent-as-new", "Sent as new, under another key."
    SWITCHED_OFF = "switched-off", "The account was switched off."
    # Another channel is tried.
    BEFORE_FAILED = "before-failed", "{label} failed: {why}"
    BEFORE_UNKNOWN = "before-unknown", "{label} may have failed: {why}"
    NOT_ACKNOWLEDGED = "not-acknowledged", "nobody acknowledged it within {minutes:minutes} of {label}."
    # A channel is disabled.
    ADDRESS_GONE = "address-gone", "Its service says that it is gone. {why}"
    SILENT = "silent", "Nothing has arrived for {days} days. {why}"
    UNSUBSCRIBED = "unsubscribed", "You unsubscribed, by the link in a message."
    NOTE = "note", "{said}"


def status_text(status: object) -> str:
    """Return the HTTP status with its phrase, such as "410 Gone"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"  # type: ignore[arg-type]
    except ValueError:
        return str(status)


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


FORMATS |= {
    "http": status_text,
    "errno": os.strerror,
    "messages": _messages,
    "minutes": _minutes,
    "duration": _duration,
    "period": _period,
    "turn": _turn,
}
