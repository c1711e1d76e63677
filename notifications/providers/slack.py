"""Slack, with an incoming webhook (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks)."""

import re
from typing import Any

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.message import Delivered, Destination, Message, Rejected
from notifications.net import post
from notifications.net.http import Response
from notifications.providers.base import IncomingWebhook, Limits, PatternField, Rate
from notifications.reasons import Code
from notifications.text import utf16
from work.answers import Answer
from work.reasons import Reason

EXAMPLE = "https://hooks.slack.com/services/T0000/B0000/…"

_WEBHOOK = re.compile(r"T[A-Z0-9]{4,15}/B[A-Z0-9]{4,15}/[A-Za-z0-9_-]{16,60}")
_URL = re.compile(rf"https://hooks\.slack\.com/services/({_WEBHOOK.pattern})")

# https://docs.slack.dev/changelog/2016/05/17/changes-to-errors-for-incoming-webhooks
_GONE = {
    "no_service": Code.WEBHOOK_REMOVED,
    "no_service_id": Code.WEBHOOK_REMOVED,
    "no_active_hooks": Code.WEBHOOK_REMOVED,
    "no_team": Code.WORKSPACE_GONE,
    "team_disabled": Code.WORKSPACE_GONE,
    "channel_not_found": Code.CHAT_DELETED,
    "channel_is_archived": Code.CHAT_ARCHIVED,
    "user_not_found": Code.RECIPIENT_LEFT,
}
_REFUSED = {
    "action_prohibited": Code.PROHIBITED,
    "posting_to_general_channel_denied": Code.PROHIBITED_GENERAL,
    "invalid_token": Code.WEBHOOK_TOKEN,
}


class SlackForm(forms.Form):
    url = PatternField(
        _URL,
        format_lazy(_("This is not the URL of an incoming webhook. Enter one like {example}"), example=EXAMPLE),
        secret=True,
        label=_("Webhook URL"),
        max_length=300,
        help_text=_("In Slack: create an app for your workspace, turn on Incoming Webhooks, add one to a channel."),
        error_messages={"required": format_lazy(_("Paste the webhook's URL, such as {example}"), example=EXAMPLE)},
    )


class Slack(IncomingWebhook):
    """Sends plain text. Webhooks take no idempotency key, so a message with an unknown outcome is not repeated."""

    kind = "slack"
    label = "Slack"
    icon = "slack"
    position = 50
    recognises_repeats = False
    separate_answer_url = True
    # Slack accepts ten times as much, and splits it into several messages.
    limits = Limits(body=4000, measure=utf16, joined=True)
    # https://docs.slack.dev/apis/web-api/rate-limits, incoming webhooks
    rates = (Rate("slack-webhook", 1, 1.0, "channel"),)
    form = SlackForm

    def webhook_id(self, webhook: str) -> str:
        """Return the middle part."""
        return webhook.split("/")[1]

    def escape(self, text: str) -> str:
        """Return `text` without the three characters that start mentions, links and commands."""
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send without formatting (`mrkdwn`) and without links to names (`link_names`)."""
        webhook = destination.secrets.get("webhook", "")
        if not _WEBHOOK.fullmatch(webhook):
            return post.damaged("webhook")
        return post.post_json(
            f"{settings.SERVICE_URLS['slack']}/services/{webhook}",
            {
                "text": self.render(message, destination).body.text,
                "mrkdwn": False,
                "link_names": False,
                "unfurl_links": False,
                **_links(message),
            },
            self.deadline,
            _judge,
        )


def _links(message: Message) -> dict[str, Any]:
    """Return the links as a line below the text. Buttons of a webhook warn that its app answers no clicks."""
    line = " · ".join(f"<{url}|{label}>" for label, url in message.links)
    block = {"type": "context", "elements": [{"type": "mrkdwn", "text": line}]}
    return {"attachments": [{"blocks": [block]}]} if line else {}


def _judge(response: Response) -> Answer:
    if response.status == 200:
        return Delivered()
    error = response.body[:100].decode("ascii", "replace").strip()
    # Before 2016 some of these came with the status 500; they are final too.
    if error in _GONE:
        return Rejected(Reason(_GONE[error], service="Slack"), gone=True)
    if error in _REFUSED:
        return Rejected(Reason(_REFUSED[error], service="Slack"))
    return post.refused("Slack", response)
