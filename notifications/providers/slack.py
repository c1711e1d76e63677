"""Slack, over an incoming webhook (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from notifications.causes import Code
from notifications.message import Answer, Delivered, Destination, Message, Rejected
from notifications.net import http, post
from notifications.providers.base import Limits, Provider, Rate, damaged
from notifications.text import utf16

EXAMPLE = "https://hooks.slack.com/services/T0000/B0000/…"

_WEBHOOK = re.compile(r"T[A-Z0-9]{4,15}/B[A-Z0-9]{4,15}/[A-Za-z0-9_-]{16,60}")
_DAMAGED = damaged("webhook")

# https://docs.slack.dev/changelog/2016/05/17/changes-to-errors-for-incoming-webhooks
_GONE = {
    "no_service": "The webhook was removed in Slack.",
    "no_service_id": "The webhook was removed in Slack.",
    "no_active_hooks": "The webhook was removed in Slack.",
    "no_team": "The workspace does not exist any more.",
    "team_disabled": "The workspace does not exist any more.",
    "channel_not_found": "The webhook's channel was deleted in Slack.",
    "channel_is_archived": "The webhook's channel was archived in Slack.",
    "user_not_found": "The person that the webhook wrote to is not in the workspace any more.",
}
_REFUSED = {
    "action_prohibited": "An administrator of the workspace does not allow this webhook to post.",
    "posting_to_general_channel_denied": "The workspace does not let this webhook post to its general channel.",
    "invalid_token": "Slack does not accept the webhook's token. Copy its URL again, and change the channel.",
}


class SlackForm(forms.Form):
    """The address of the webhook."""

    url = forms.CharField(
        label="Webhook URL",
        max_length=300,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="In Slack: make an app for your workspace, turn on Incoming Webhooks, add one to a channel.",
        error_messages={"required": f"Paste the webhook's URL, such as {EXAMPLE}"},
    )

    def clean_url(self) -> str:
        """Return the webhook's path below /services/, "T0000/B0000/…"."""
        url: str = self.cleaned_data["url"]
        webhook = url.removeprefix("https://hooks.slack.com/services/")
        if webhook == url or not _WEBHOOK.fullmatch(webhook):
            raise forms.ValidationError(f"This is not the URL of an incoming webhook. One looks like {EXAMPLE}")
        return webhook


class Slack(Provider):
    """Writes plain text. Webhooks know no keys: a message whose end is unknown is not sent again."""

    kind = "slack"
    label = "Slack"
    icon = "slack"
    position = 50
    recognises_repeats = False
    # Slack takes ten times as much, and shows it as several messages.
    limits = Limits(body=4000, measure=utf16, joined=True)
    form: ClassVar[type[forms.Form]] = SlackForm

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Return what https://docs.slack.dev/apis/web-api/rate-limits says of incoming webhooks."""
        return (Rate("slack-webhook", 1, 1.0, "channel"),)

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"ending"} of the webhook's id, secrets {"webhook"}: who knows the URL can post."""
        webhook: str = cleaned["url"]
        return Destination(address={"ending": webhook.split("/")[1][-4:]}, secrets={"webhook": webhook})

    def withheld(self, destination: Destination) -> dict[str, Any]:
        """Return what of the webhook's URL is kept."""
        return {"url": destination.secrets["webhook"]} if "webhook" in destination.secrets else {}

    def summary(self, destination: Destination) -> str:
        """Return the last characters of the webhook's id."""
        return f"Webhook …{destination.address.get('ending', '')}"

    def escape(self, text: str) -> str:
        """Return `text` without the three characters that begin mentions, links and commands."""
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send it as it is: `mrkdwn` turns formatting off, `link_names` that of names."""
        webhook = destination.secrets.get("webhook", "")
        if not _WEBHOOK.fullmatch(webhook):
            return _DAMAGED
        answer = post.post_json(
            f"{settings.SERVICE_URLS['slack']}/services/{webhook}",
            {
                "text": self.written(message, destination).body.text,
                "mrkdwn": False,
                "link_names": False,
                "unfurl_links": False,
            },
            self.deadline,
        )
        return _judge(answer) if isinstance(answer, http.Response) else answer


def _judge(response: http.Response) -> Answer:
    if response.status == 200:
        return Delivered()
    said = response.body[:100].decode("ascii", "replace").strip()
    # Some of them come with 500, as they did before 2016; they are as final as the others.
    if said in _GONE:
        return Rejected(_GONE[said], True, f"{Code.ANSWER}-{said}")
    if said in _REFUSED:
        return Rejected(_REFUSED[said], code=f"{Code.ANSWER}-{said}")
    if later := post.later("Slack", response):
        return later
    return post.refused("Slack", response)
