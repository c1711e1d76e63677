"""Other services, through Apprise (https://appriseit.com/services) and the guarded HTTP client."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import around_links, as_html, fit, markdown_link
from notifications.net import post
from notifications.net.address_field import PROBE_SECONDS
from notifications.net.http import Unanswered
from notifications.providers import apprise_requests
from notifications.providers.apprise_requests import NAMES, REFUSED, SERVICES
from notifications.providers.base import Limits, Provider, Rendered, SecretInput, render
from notifications.reasons import DeliveryCode
from work.answers import Ambiguous, Answer
from work.reasons import Reason

EXAMPLE = "gotify://push.example.org/AbCdEf123"

_OWN = {"mailto", "mailtos", "discord", "tgram", "slack", "ntfy", "ntfys", "json", "jsons", "xml", "xmls", "form"}
_OWN |= {"vapid", "matrix", "matrixs"}


class AppriseForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Apprise URL"),
        max_length=1000,
        widget=SecretInput(),
        help_text=gettext_lazy(
            "More than a hundred services have one: see "
            '<a href="https://appriseit.com/services">appriseit.com/services</a>.'
        ),
        error_messages={
            "required": format_lazy(gettext_lazy("Enter the service's URL, such as {example}"), example=EXAMPLE)
        },
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        if (scheme := _scheme(url)) in _OWN:
            problem = _("Use Carillon's own kind of channel for %(scheme)s:// instead.")
            raise forms.ValidationError(problem % {"scheme": scheme})
        if scheme not in SERVICES:
            if scheme in REFUSED:
                reason, name = REFUSED[scheme]
                why = _(reason) % {"service": name}
                raise forms.ValidationError(_("%(why)s Use a webhook to a program that passes it on.") % {"why": why})
            is_scheme = re.fullmatch(r"[a-z0-9]{1,20}", scheme)
            text = (
                _("%(scheme)s:// is not a supported service. One looks like %(example)s")
                if is_scheme
                else _("This is not an Apprise URL. One looks like %(example)s")
            )
            raise forms.ValidationError(text % {"scheme": scheme, "example": EXAMPLE})
        if (service := _service(url)) is None:
            template = apprise_requests.load(scheme).templates[0].replace("{schema}", scheme)
            problem = _("This is not a complete URL of %(name)s. Enter one like %(template)s")
            raise forms.ValidationError(problem % {"name": _name(scheme), "template": template})
        if refusal := _refusal(service):
            raise forms.ValidationError(refusal)
        return url


class Apprise(Provider):
    """Sends through one of Apprise's services. None takes an idempotency key, so a message with an unknown outcome is
    not repeated.
    """

    kind = "apprise"
    label = gettext_lazy("Another service (Apprise)")
    about = gettext_lazy("Pushover, Microsoft Teams, Mattermost, Home Assistant, SMS through Twilio, and many more.")
    position = 90
    recognises_repeats = False
    services = NAMES
    form = AppriseForm

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"service"}, its name, and secrets {"url"}, which may hold tokens anywhere."""
        return Destination({"service": _name(_scheme(cleaned["url"]))}, {"url": cleaned["url"]})

    def summary(self, destination: Destination) -> str:
        return str(destination.address.get("service", ""))

    def render(self, message: Message, destination: Destination) -> Rendered:
        """Return the text for the service; unchanged for a damaged URL."""
        service = _service(destination.secrets.get("url", ""))
        return _render(message, service) if service else render(message, Limits())

    def send(self, message: Message, destination: Destination) -> Answer:
        if (service := _service(destination.secrets.get("url", ""))) is None:
            return post.damaged("URL")
        rendered = _render(message, service)
        title, body = rendered.subject.text, rendered.body.text
        with apprise_requests.guarded(self.deadline) as calls:
            try:
                # Some services refuse a message without a body.
                done = bool(
                    service.notify(body=body or title, title=title, notify_type="info", body_format=_format(service))
                )
            except Exception:  # foreign code that did not expect an answer; `calls` knows what was sent
                done = False
        return _judge(done, calls, self.summary(destination))


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower() if "://" in url else ""


def _name(scheme: str) -> str:
    return str(apprise_requests.load(scheme).service_name)


def _service(url: str) -> Any:
    """Return the service that the URL describes, or None."""
    from apprise import AppriseAsset

    if _scheme(url) not in SERVICES:
        return None
    plugin = apprise_requests.load(_scheme(url))
    asset = AppriseAsset(
        app_id="Carillon",
        app_desc="Carillon",
        app_url=settings.BASE_URL,
        image_url_mask="",  # pictures of another host
        image_url_logo="",
        storage_mode="memory",  # the default writes files
        allow_templates=False,
        interpret_emojis=False,
        http_redirects=False,
    )
    try:
        parsed = plugin.parse_url(url)
        # If it counts characters otherwise than we do, it cuts a little more instead of sending several messages.
        service = plugin(**{**parsed, "overflow": "truncate", "asset": asset}) if parsed else None
    except Exception:  # foreign code, with text that a person typed
        return None
    if service is not None:
        service.throttle = lambda *_, **__: None  # it sleeps; our rates do not
    return service


def _limits(service: Any) -> Limits:
    return Limits(service.title_maxlen or None, service.body_maxlen, joined=service.title_maxlen <= 0)


def _format(service: Any) -> Any:
    return service.resolve_format("text")


def _render(message: Message, service: Any) -> Rendered:
    """Escape the body for a service that shows HTML or Markdown."""
    from apprise import NotifyFormat
    from apprise.conversion import convert_between

    target, limits = _format(service), _limits(service)

    def convert(text: str) -> str:
        return str(convert_between(NotifyFormat.TEXT, target, text))  # type: ignore[no-untyped-call]

    def escape(text: str) -> str:
        if target == NotifyFormat.HTML:
            return as_html(text).replace("\n", "<br>\n")
        return around_links(text, convert, markdown_link) if target == NotifyFormat.MARKDOWN else convert(text)

    rendered = render(message, limits, escape)
    # A separate title is plain text in every service.
    return rendered if limits.joined else replace(rendered, subject=fit(message.subject, limits.subject))


def _refusal(service: Any) -> str:
    """Return why every send to the first address that the service calls would fail, or ""."""
    with apprise_requests.guarded(PROBE_SECONDS, probe_only=True) as calls:
        try:
            service.notify(body="-", title="-", notify_type="info", body_format="text")
        except Exception:  # foreign code, after a connection error
            return calls.refusal
    return calls.refusal


def _judge(done: bool, calls: apprise_requests.Calls, name: str) -> Answer:
    if done and calls.responses:
        return Delivered()
    if isinstance(calls.failure, Unanswered):
        return post.failed(calls.failure)
    if any(200 <= response.status < 300 for response in calls.responses):
        return Ambiguous(Reason(DeliveryCode.PARTIAL, service=name))
    if calls.failure is not None:
        return post.failed(calls.failure)
    if not calls.responses:
        return Rejected(Reason(DeliveryCode.NO_RECIPIENT, service=name))
    return post.refused(name, calls.responses[-1])
