"""The codes of notifications and channels, and their sentences. Pure."""

import os
from http import HTTPStatus
from typing import Any

from django.utils.translation import gettext, gettext_noop as _, ngettext, ngettext_lazy, pgettext, pgettext_lazy

from common.texts.numbers import grouped
from common.times import dates
from work.reasons import FORMATS, Codes


class DeliveryCode(Codes):
    """Its sentences have the names of its parameters; see `FORMATS` for what follows a colon."""

    # The service answered.
    ACCEPTED = "accepted", _("{status:http}")
    SAVED = "saved", _("Saved in {folder}.")
    HTTP = "http", _("{service:service} answered {status:http}."), "status"
    GONE = "gone", _("{service:service} answered {status:http}: it wants no more messages.")
    REDIRECT = (
        "redirect",
        _(
            "{service:service} answered {status:http}. Carillon follows no redirects: "
            "give this channel the final address."
        ),
        "status",
    )
    SMTP = "smtp", _("The mail server refused the email: {status} {said}"), "status", "enhanced"
    SMTP_LATER = "smtp-later", _("The mail server asked to try later: {status} {said}"), "status", "enhanced"
    MAIL_SIGN_IN = "mail-sign-in", _("The mail server refused Carillon's sign-in. The operator must correct EMAIL_URL.")
    MAIL_SECURITY = (
        "mail-security",
        _("The mail server does not offer the encryption or sign-in that EMAIL_URL requires."),
    )
    BOT_TOKEN = "bot-token", _("Telegram does not know this bot token. Enter a new one on the channel's page.")
    TOPIC_TOKEN = (
        "topic-token",
        _("The server does not let this channel write to its topic. Give the channel an access token."),
    )
    ACCESS_TOKEN = (
        "access-token",
        _("{service:service} does not accept the access token. Enter a new one on the channel's page."),
    )
    NOT_IN_ROOM = (
        "not-in-room",
        _("The account may not write in this room. Invite it, join the room with it, and allow it to send messages."),
    )
    WEBHOOK_TOKEN = (
        "webhook-token",
        _("{service:service} does not accept the webhook's token. Copy its URL again, and change the channel."),
    )
    WEBHOOK_REMOVED = "webhook-removed", _("The webhook was removed in {service:service}.")
    SUBSCRIPTION_ENDED = (
        "subscription-ended",
        _(
            "The browser takes no more messages: its notifications were turned off, or its data was cleared. "
            "Open Carillon there and press “Ring in this browser”."
        ),
    )
    WORKSPACE_GONE = "workspace-gone", _("The workspace no longer exists.")
    CHAT_DELETED = "chat-deleted", _("The webhook's channel was deleted in {service:service}.")
    CHAT_ARCHIVED = "chat-archived", _("The webhook's channel was archived in {service:service}.")
    RECIPIENT_LEFT = "recipient-left", _("The webhook's recipient is no longer in the workspace.")
    WORKFLOW = ("workflow", _("The workflow refused the message. It needs one variable of the type Text, called text."))
    PROHIBITED = "prohibited", _("An administrator of the workspace does not allow this webhook to post.")
    PROHIBITED_GENERAL = "prohibited-general", _("The workspace does not let this webhook post to its general channel.")
    FORUM = (
        "forum",
        _("The forum wants a tag on each post. Add ?thread_id= and the id of one of its posts to the webhook's URL."),
    )
    MODERATED = "moderated", _("The server's AutoMod blocks the message. Ask the server's administrators to allow it.")
    NO_RIGHTS = (
        "no-rights",
        _("The bot may not write in this chat. Allow it to post; in a channel, make it an administrator."),
    )
    BLOCKED = "blocked", _("The bot was blocked or removed from the chat.")
    ACCOUNT_GONE = "account-gone", _("The recipient's Telegram account no longer exists.")
    NO_CHAT = "no-chat", _("The bot finds no chat with this id. First send the bot a message, or add it to the group.")
    NO_TOPIC = "no-topic", _("The topic was closed or deleted, or the group has none with this number.")
    NO_RECIPIENT = "no-recipient", _("{service:service} has no recipient at this address.")
    NOT_WRITTEN_FIRST = (
        "not-written-first",
        _("The bot cannot write first. Send it a message in Telegram, then try again."),
    )
    PARTIAL = "partial", _("{service:service} accepted only a part of it, or its answer is not understood.")
    # No answer came.
    NO_ANSWER = "no-answer", _("{service:service} closed the connection without an answer.")
    INTERIM = "interim", _("{service:service} only sent an interim answer ({status}).")
    UNCONFIRMED = "unconfirmed", _("The email was sent, and the connection broke before the mail server confirmed it.")
    TIMEOUT = "timeout", _("{service:service} did not answer within {seconds:number} seconds.")
    CONNECTION_REFUSED = "connection-refused", _("{service:service} refused the connection.")
    UNREACHABLE = "unreachable", _("{service:service} could not be reached: {errno:errno}."), "errno"
    NAME = "name", _("The name of {service:service} could not be resolved.")
    CERTIFICATE = "certificate", _("{service:service}'s certificate is not valid: {said}."), "number"
    TLS = "tls", _("The secure connection to {service:service} failed.")
    BROKEN = "broken-connection", _("The connection to {service:service} broke.")
    NOT_HTTP = "not-http", _("{service:service}'s answer is not HTTP.")
    PROXY = "proxy", _("The outgoing proxy refused the connection: it answered {answer}.")
    PRIVATE = (
        "private-network",
        _(
            "The address is inside a private network. Use a public one, or ask the operator to add its network to"
            " ALLOWED_NETWORKS."
        ),
    )
    FORBIDDEN = "forbidden-address", _("Carillon does not connect to this address. Use a public web address.")
    # A program pulled it.
    PULLED = "pulled", _("Programs pull this queue; no worker sends to it.")
    RETURNED = "returned", _("The program returned it for another try.")
    NOT_ACKED = "not-acked", _("The program did not acknowledge it before its lease ended.")
    # The delivery cannot be sent.
    NOT_A_REQUEST = "not-a-request", _("This cannot be written as an HTTP request.")
    NOT_AN_EMAIL = "not-an-email", _("This cannot be written as an email: {error}.")
    DAMAGED = "damaged", _("This channel's {part} is damaged. Remove the channel and add it again.")
    UNREADABLE = (
        "unreadable",
        _(
            "The channel's secrets cannot be read with the configured encryption keys. Enter them again, or ask the"
            " operator to restore the key."
        ),
    )
    NO_PROVIDER = "no-provider", _("There is no provider of the kind “{kind}”.")
    REMOVED = "removed", _("The channel was removed.")
    CHANGED = "changed", _("The channel was changed.")
    DISABLED = "disabled", _("The channel is disabled: {why}")
    UNVERIFIED = "unverified", _("The channel is not confirmed yet.")
    # It waits, or nobody wants it any more.
    QUIET_HOURS = "quiet-hours", _("Waits until {until:civil}: your quiet hours.")
    HOLIDAY = "holiday", _("Your holiday keeps it silent.")
    LIMIT_SERVICE = "limit-service", _("{service:service} takes {amount:messages} {seconds:period}; {until:turn}.")
    LIMIT_CHANNEL = (
        "limit-channel",
        _("{service:service} takes {amount:messages} {seconds:period} to one channel; {until:turn}."),
    )
    LIMIT_HOST = (
        "limit-host",
        _("{service:service} takes {amount:messages} {seconds:period} to one host; {until:turn}."),
    )
    LIMIT_PERSON = "limit-person", _("You may be sent {amount:messages} {seconds:period}; {until:turn}.")
    HOST_BUSY = "host-busy", _("{host} gets {amount:messages} at a time; {until:turn}.")
    HOST_RESTS = "host-rests", _("{host} did not answer five times in a row; {until:turn}.")
    GIVEN_UP = "given-up", _("Given up after {seconds:duration} without success. {why}")
    ACKNOWLEDGED = "acknowledged", _("Acknowledged.")
    SNOOZED = "snoozed", _("Snoozed.")
    PAUSED = "paused", _("The reminder was paused.")
    DELETED = "deleted", _("The reminder was deleted.")
    ARCHIVED = "archived", _("The reminder was archived.")
    NEWER = "newer-slot", _("A newer message about it replaced this one.")
    OTHER_TIME = "other-time", _("The reminder does not come at that time any more.")
    NOT_REPEATED = "not-repeated", _("Its last message was not sent.")
    RULE_OFF = "rule-switched-off", _("The rule was switched off.")
    RULE_DELETED = "rule-withdrawn", _("The rule was deleted.")
    WATCH_PAUSED = "watch-paused", _("The watch was paused.")
    WATCH_DELETED = "watch-withdrawn", _("The watch was deleted.")
    PAGE_OFF = "status-page-off", _("The status page is switched off.")
    MENDED = "mended", _("The problem is solved, so this notice was dropped.")
    LEFT = "left", _("You unsubscribed from its topic.")
    STOPPED = "stopped-announcements", _("You stopped these announcements.")
    CANCELLED = "cancelled", _("Its owner cancelled it.")
    SENT_AS_NEW = "sent-as-new", _("Sent as new, under another key.")
    ASKED = "asked", _("{name} has been told. Waiting for an answer.")
    NOBODY_ON_CALL = "nobody-on-call", _("Nobody is on call.")
    NOBODY_TO_TELL = "nobody-to-tell", _("No member of the team has a channel for new reminders.")
    NO_MEMBER = "no-member", _("You are no longer a member of the team.")
    SWITCHED_OFF = "switched-off", _("The account was switched off.")
    # Another channel is tried.
    BEFORE_FAILED = "before-failed", _("{label} failed: {why}")
    BEFORE_UNKNOWN = "before-unknown", _("{label} may have failed: {why}")
    NOT_ACKNOWLEDGED = "not-acknowledged", _("nobody acknowledged it within {minutes:minutes} of {label}.")
    # A channel is disabled.
    ADDRESS_GONE = "address-gone", _("Its service says that it is gone. {why}")
    SILENT = "silent", _("Nothing has arrived for {days} days. {why}")
    UNSUBSCRIBED = "unsubscribed", _("You unsubscribed, by the link in a message.")
    NOTE = "note", _("{said}")


def status_text(status: object) -> str:
    """Return the HTTP status with its phrase, such as "410 Gone"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"  # type: ignore[arg-type]
    except ValueError:
        return str(status)


def _messages(amount: Any) -> str:
    return ngettext("%(count)s message", "%(count)s messages", amount) % {"count": grouped(amount)}


_MINUTES = ngettext_lazy("%(count)s minute", "%(count)s minutes", "count")
_UNITS = (
    (86_400, ngettext_lazy("%(count)s day", "%(count)s days", "count")),
    (3_600, ngettext_lazy("%(count)s hour", "%(count)s hours", "count")),
    (60, _MINUTES),
    (1, ngettext_lazy("%(count)s second", "%(count)s seconds", "count")),
)


def _duration(seconds: Any) -> str:
    size, words = next((unit for unit in _UNITS if seconds >= unit[0] and seconds % unit[0] == 0), _UNITS[-1])
    return words % {"count": int(seconds // size)}


# How often a service takes so many messages.
_PERIODS = {
    1.0: pgettext_lazy("messages per", "a second"),
    60.0: pgettext_lazy("messages per", "a minute"),
    3_600.0: pgettext_lazy("messages per", "an hour"),
    86_400.0: pgettext_lazy("messages per", "a day"),
}


def _period(seconds: Any) -> str:
    if seconds in _PERIODS:
        return str(_PERIODS[seconds])
    minutes, rest = divmod(seconds, 60)
    if rest:
        return pgettext("messages per", "in %(count)s seconds") % {"count": f"{seconds:g}"}
    return pgettext("messages per", "in %(count)s minutes") % {"count": f"{minutes:g}"}


def _turn(until: Any) -> str:
    """None: it would be stale before its turn. Empty: the wait is too short for a time."""
    if until is None:
        return gettext("before its turn it will be stale")
    if not until:
        return gettext("this one waits")
    return gettext("this one waits until %(time)s") % {"time": dates.civil(until)}


FORMATS |= {
    "http": status_text,
    "errno": os.strerror,
    "messages": _messages,
    "minutes": lambda minutes: _MINUTES % {"count": minutes},
    "duration": _duration,
    "period": _period,
    "turn": _turn,
}
