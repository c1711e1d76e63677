"""Slack, with an incoming webhook (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks) or a
workflow's; also chat servers that take such messages (https://developers.mattermost.com/integrate/webhooks/incoming).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from html import escape as html_escape
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _, gettext_noop

from notifications.messages import markup
from notifications.messages.markup import Style
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import around_links, markdown_link, utf16
from notifications.net import post
from notifications.net.address_field import AddressField
from notifications.net.http import Response
from notifications.providers.base import IncomingWebhook, Limits, Rate, Rendered, SecretInput, render
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason

EXAMPLE = "https://hooks.slack.com/services/T0000/B0000/…"

_WEBHOOK = r"T[A-Z0-9]{4,15}/B[A-Z0-9]{4,15}/[A-Za-z0-9_-]{16,60}"
_WORKFLOW = (
    r"triggers/[TE][A-Z0-9]{4,15}/[0-9]{6,20}/[0-9a-f]{20,60}|workflows/T[A-Z0-9]{4,15}(?:/[A-Za-z0-9_-]{4,60}){2,3}"
)
_URL = re.compile(rf"https://hooks\.slack\.com/(?:services/({_WEBHOOK})|({_WORKFLOW}))")
_ELSEWHERE = re.compile(r"https?://(?!hooks\.slack\.com)[^\s/?#]+(?:/[^\s/?#]+){0,5}/hooks/[A-Za-z0-9/_-]{16,120}")
_PATTERN = re.compile(f"{_WEBHOOK}|{_WORKFLOW}|{_ELSEWHERE.pattern}")

# https://docs.slack.dev/changelog/2016/05/17/changes-to-errors-for-incoming-webhooks, and ids of Mattermost's errors
_GONE = {
    "no_service": DeliveryCode.WEBHOOK_REMOVED,
    "no_service_id": DeliveryCode.WEBHOOK_REMOVED,
    "no_active_hooks": DeliveryCode.WEBHOOK_REMOVED,
    "no_team": DeliveryCode.WORKSPACE_GONE,
    "team_disabled": DeliveryCode.WORKSPACE_GONE,
    "channel_not_found": DeliveryCode.CHAT_DELETED,
    "channel_is_archived": DeliveryCode.CHAT_ARCHIVED,
    "user_not_found": DeliveryCode.RECIPIENT_LEFT,
    "web.incoming_webhook.invalid.app_error": DeliveryCode.WEBHOOK_REMOVED,
    "web.incoming_webhook.channel.app_error": DeliveryCode.CHAT_DELETED,
    "api.post.create_post.can_not_post_to_deleted.error": DeliveryCode.CHAT_ARCHIVED,
}
_REFUSED = {
    "action_prohibited": DeliveryCode.PROHIBITED,
    "posting_to_general_channel_denied": DeliveryCode.PROHIBITED_GENERAL,
    "invalid_token": DeliveryCode.WEBHOOK_TOKEN,
    "web.incoming_webhook.disabled.app_error": DeliveryCode.PROHIBITED,
    "web.incoming_webhook.permissions.app_error": DeliveryCode.PROHIBITED,
    "web.incoming_webhook.channel_locked.app_error": DeliveryCode.PROHIBITED,
}


class WebhookField(AddressField):
    """The URL of a webhook. Its value is what follows Slack's host; of another host, the whole URL."""

    def clean(self, value: Any) -> str:
        typed: str = forms.CharField.clean(self, value)
        if not typed:
            return typed
        if match := _URL.fullmatch(typed):
            return match[1] or match[2]
        if not _ELSEWHERE.fullmatch(typed):
            text = _("This is not the URL of an incoming webhook. Enter one like {example}")
            raise forms.ValidationError(format_lazy(text, example=EXAMPLE), "address")
        return super().clean(typed)


class SlackForm(forms.Form):
    url = WebhookField(
        widget=SecretInput(),
        label=_("Webhook URL"),
        max_length=300,
        help_text=_(
            "In Slack: create an app for your workspace, turn on Incoming Webhooks, add one to a channel. Or create a "
            "workflow that starts from a webhook, with one variable of the type Text, called text. "
            "In Mattermost or Rocket.Chat: an incoming webhook, such as https://chat.example.org/hooks/…"
        ),
        error_messages={"required": format_lazy(_("Paste the webhook's URL, such as {example}"), example=EXAMPLE)},
    )


def _in_mrkdwn(text: str) -> str:
    """Escape text beside marks. What formats has no escape in Slack: an invisible joiner parts it."""
    parted = partial(re.sub, r"[*_~`]|(?m:^)(?=>)|:(?=[\w+-]+:)", "\N{WORD JOINER}\\g<0>\N{WORD JOINER}")
    return html_escape(around_links(text, parted), quote=False)


def _mrkdwn_link(text: str, url: str) -> str:
    return f"<{html_escape(url, quote=False)}|{text}>"


class Slack(IncomingWebhook):
    """Sends plain text. Webhooks take no idempotency key, so a message with an unknown outcome is not repeated."""

    kind = "slack"
    label = "Slack"
    about = _("Also Mattermost and Rocket.Chat, whose incoming webhooks take the same messages.")
    position = 50
    recognises_repeats = False
    separate_answer_url = True
    # Slack accepts ten times as much, and splits it into several messages.
    limits = Limits(body=4000, measure=utf16, joined=True)
    # https://docs.slack.dev/apis/web-api/rate-limits, incoming webhooks
    rates = (Rate("slack-webhook", 1, 1.0, "channel"),)
    style = Style("*{}*".format, "_{}_".format, _mrkdwn_link, "• ", _in_mrkdwn)
    form = SlackForm

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"ending"} and, of another host than Slack's, {"host"}; secrets {"webhook"}."""
        webhook = super().destination(cleaned)
        host = urlsplit(cleaned["url"]).hostname
        return replace(webhook, address={**webhook.address, "host": host}) if host else webhook

    def webhook_id(self, webhook: str) -> str:
        """Return the middle part; of a host other than Slack's, the beginning of the last one."""
        return webhook.rpartition("/hooks/")[2][:4] if "://" in webhook else webhook.split("/")[-2]

    def host(self, destination: Destination) -> str:
        return str(destination.address.get("host") or super().host(destination))

    def summary(self, destination: Destination) -> str:
        return " · ".join(filter(None, (destination.address.get("host"), super().summary(destination))))

    def render(self, message: Message, destination: Destination) -> Rendered:
        """Return the text with the links of a workflow, which has no buttons; in Markdown for another host."""
        webhook = destination.secrets.get("webhook", "")
        if re.fullmatch(_WORKFLOW, webhook):
            return render(message, self.limits)
        if "://" not in webhook:
            return super().render(message, destination)
        message = replace(message, answer_url="", unsubscribe_url="")
        return render(message, self.limits, _in_markdown, markup.MARKDOWN)

    def escape(self, text: str) -> str:
        """Return `text` without the three characters that start mentions, links and commands."""
        return html_escape(text, quote=False)

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send with formatting (`mrkdwn`) only where the text has marks, and without links to names (`link_names`)."""
        webhook = destination.secrets.get("webhook", "")
        if not _PATTERN.fullmatch(webhook):
            return post.damaged("webhook")
        rendered = self.render(message, destination)
        text = rendered.body.text
        if "://" in webhook:
            links = " · ".join(f"[{label}]({url})" for label, url in message.links)
            document = {"text": text, **_attachments(message, {"text": links})}
            return post.post_json(webhook, document, self.deadline, partial(_judge, gettext_noop("the chat server")))
        slack = settings.SERVICE_URLS["slack"]
        if re.fullmatch(_WORKFLOW, webhook):
            return post.post_json(f"{slack}/{webhook}", {"text": text}, self.deadline, _judge_workflow)
        # Below the text. Buttons of a webhook warn that its app answers no clicks.
        links = " · ".join(f"<{url.replace('|', '%7C')}|{label}>" for label, url in message.links)
        line = {"type": "context", "elements": [{"type": "mrkdwn", "text": links}]}
        shown = _attachments(message, {"blocks": [line]})
        document = {"text": text, "mrkdwn": rendered.has_marks, "link_names": False, "unfurl_links": False, **shown}
        return post.post_json(f"{slack}/services/{webhook}", document, self.deadline, partial(_judge, "Slack"))


def _in_markdown(text: str) -> str:
    """Escape what formats. Mentions, emoji and entities have no escape: an invisible joiner parts them."""

    def escape(rest: str) -> str:
        rest = re.sub(r"(?<!\w)@(?=\w)|<(?=!)|&(?=[#\w])|:(?=[\w+-]+:)|(?m:^)=", "\\g<0>\N{WORD JOINER}", rest)
        return re.sub(r"[\\`*{}\[\]()#+.!_>~|-]", r"\\\g<0>", rest)

    return around_links(text, escape, markdown_link)


def _attachments(message: Message, links: dict[str, Any]) -> dict[str, Any]:
    """Return what is shown below the text: the links, where the message has some, and its picture."""
    attachments = [links] if message.links else []
    if message.picture:
        attachments.append({"fallback": message.picture, "image_url": message.picture})
    return {"attachments": attachments} if attachments else {}


def _judge(service: str, response: Response) -> Answer:
    if response.status == 200:
        return Delivered()
    error = str(post.json_object(response).get("id") or response.body[:100].decode("ascii", "replace").strip())
    # Before 2016 some of these came with the status 500; they are final too.
    if error in _GONE:
        return Rejected(Reason(_GONE[error], service=service), gone=True)
    if error in _REFUSED:
        return Rejected(Reason(_REFUSED[error], service=service))
    return post.refused(service, response)


def _judge_workflow(response: Response) -> Answer:
    """https://slack.com/help/articles/360041352714: an error has ok: false, and names no cause that is documented."""
    if response.status == 200 and post.json_object(response).get("ok") is not False:
        return Delivered()
    if response.status in (200, 400):
        return Rejected(Reason(DeliveryCode.WORKFLOW))
    return post.refused("Slack", response)
