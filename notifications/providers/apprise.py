"""The long tail: services that Apprise speaks to (https://appriseit.com/services), held to the door."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django import forms

from notifications.causes import Code
from notifications.message import Ambiguous, Answer, Delivered, Destination, Message, Rejected
from notifications.net import http, post
from notifications.net.address_field import PATIENCE
from notifications.providers import apprise_requests
from notifications.providers.apprise_services import SERVICES
from notifications.providers.base import Limits, Provider, Written, damaged, write
from notifications.text import fit

EXAMPLE = "gotify://push.example.org/AbCdEf123"

_OWN = {"mailto", "mailtos", "discord", "tgram", "slack", "ntfy", "ntfys", "json", "jsons", "xml", "xmls", "form"}
_DAMAGED = damaged("address")


class AppriseForm(forms.Form):
    """The address, as Apprise writes it."""

    url = forms.CharField(
        label="Apprise URL",
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="More than a hundred services have one: see "
        '<a href="https://appriseit.com/services">appriseit.com/services</a>.',
        error_messages={
            "required": f"Write the service's address, such as {EXAMPLE}",
            "max_length": "An address has at most %(limit_value)d characters.",
        },
    )

    def clean_url(self) -> str:
        """Return the address."""
        url: str = self.cleaned_data["url"]
        scheme = _scheme(url)
        if scheme in _OWN:
            raise forms.ValidationError(f"Use Carillon's own kind of channel for {scheme}:// instead.")
        if scheme not in SERVICES:
            known = re.fullmatch(r"[a-z0-9]{1,20}", scheme)
            told = f"{scheme}:// is none of the services that may be used." if known else "This is no address."
            raise forms.ValidationError(f"{told} One looks like {EXAMPLE}")
        service = _service(url)
        if service is None:
            shape = _shape(scheme)
            raise forms.ValidationError(f"This is not a whole address of {_name(scheme)}. Write it like {shape}")
        if refusal := _refusal(service):
            raise forms.ValidationError(f"{refusal} Use one that everybody reaches, with a valid certificate.")
        return url


class Apprise(Provider):
    """Sends by one of Apprise's services. None of them knows keys: a message whose end is unknown is not sent again."""

    kind = "apprise"
    label = "Another service (Apprise)"
    icon = "apprise"
    position = 90
    recognises_repeats = False
    form: ClassVar[type[forms.Form]] = AppriseForm

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"service"}, its name, and secrets {"url"}: tokens stand anywhere in it."""
        return Destination({"service": _name(_scheme(cleaned["url"]))}, {"url": cleaned["url"]})

    def summary(self, destination: Destination) -> str:
        """Return the service's name."""
        return str(destination.address.get("service", ""))

    def limits_for(self, destination: Destination) -> Limits:
        """Return those of the service; none where the address is damaged, to which nothing is sent."""
        service = _service(destination.secrets.get("url", ""))
        return Limits() if service is None else _limits(service)

    def written(self, message: Message, destination: Destination) -> Written:
        """Return what the service is given; as it stands where the address is damaged."""
        service = _service(destination.secrets.get("url", ""))
        return write(message, Limits()) if service is None else _written(message, service)

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send it, cut to what the service takes."""
        service = _service(destination.secrets.get("url", ""))
        if service is None:
            return _DAMAGED
        written = _written(message, service)
        title, body = written.subject.text, written.body.text
        with apprise_requests.visit(self.deadline) as visit:
            try:
                # Some services refuse a message without a body.
                done = bool(
                    service.notify(body=body or title, title=title, notify_type="info", body_format=_format(service))
                )
            except Exception:  # of foreign code, on an answer that it did not expect: the visit tells what went out
                done = False
        return _judge(done, visit, self.summary(destination))


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower() if "://" in url else ""


def _name(scheme: str) -> str:
    return str(apprise_requests.load(scheme).service_name)


def _shape(scheme: str) -> str:
    template: str = apprise_requests.load(scheme).templates[0]
    return template.replace("{schema}", scheme)


def _service(url: str) -> Any:
    """Return the service that the address describes, or None."""
    from apprise import AppriseAsset

    if _scheme(url) not in SERVICES:
        return None
    plugin = apprise_requests.load(_scheme(url))
    asset = AppriseAsset(
        storage_mode="memory",  # it would write files otherwise
        allow_templates=False,
        interpret_emojis=False,
        http_redirects=False,
    )
    try:
        parsed = plugin.parse_url(url)
        # Where it counts otherwise than we do, it cuts a little more, instead of sending several messages.
        service = plugin(**{**parsed, "overflow": "truncate", "asset": asset}) if parsed else None
    except Exception:  # of foreign code, on what a person typed
        return None
    if service is not None:
        service.throttle = lambda *_, **__: None  # it would sleep; our rates do not
    return service


def _limits(service: Any) -> Limits:
    return Limits(service.title_maxlen or None, service.body_maxlen, joined=service.title_maxlen <= 0)


def _format(service: Any) -> Any:
    return service.resolve_format("text")


def _written(message: Message, service: Any) -> Written:
    """Where a service shows a body as HTML or Markdown, it is given one that shows what was typed."""
    from apprise import NotifyFormat
    from apprise.conversion import convert_between

    there, limits = _format(service), _limits(service)

    def escape(text: str) -> str:
        if there == NotifyFormat.HTML:
            return html.escape(text).replace("\n", "<br>\n")
        return str(convert_between(NotifyFormat.TEXT, there, text))  # type: ignore[no-untyped-call]

    written = write(message, limits, escape)
    # A title of its own is plain text everywhere.
    return written if limits.joined else replace(written, subject=fit(message.subject, limits.subject))


def _refusal(service: Any) -> str:
    """Return why the guard would refuse the first address that the service calls, or ""."""
    with apprise_requests.visit(PATIENCE, looking=True) as visit:
        try:
            service.notify(body="-", title="-", notify_type="info", body_format="text")
        except Exception:  # of foreign code, told that there is no connection
            return visit.refusal
    return visit.refusal


def _judge(done: bool, visit: apprise_requests.Visit, name: str) -> Answer:
    if done and visit.responses:
        return Delivered()
    if isinstance(visit.failure, http.Unanswered):
        return post.meaning(visit.failure)
    if any(200 <= response.status < 300 for response in visit.responses):
        reason = f"{name} took a part of it only, or answered something that is not understood."
        return Ambiguous(reason, Code.PARTIAL)
    if visit.failure is not None:
        return post.meaning(visit.failure)
    if not visit.responses:
        return Rejected(f"{name} has nobody to send to at this address.", code=Code.NO_RECIPIENT)
    last = visit.responses[-1]
    return post.later(name, last) or post.refused(name, last)
