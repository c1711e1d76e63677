"""The form fields for an address that Carillon posts to, and for the headers of its requests."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from notifications.net import http
from notifications.net.address_policy import EXAMPLE, RefusedURL, check_url

PROBE_SECONDS = 5.0
"""Seconds that a form waits for an address before it accepts it untested."""


class AddressField(forms.CharField):
    """A web address in canonical form.

    Probes the address and refuses one that every send would fail at: in a private network, or with an invalid
    certificate. Accepts one that does not answer, because that may pass. `example` is shown in it, and in errors.
    """

    def __init__(self, *, example: str = EXAMPLE, **options: Any) -> None:
        widget = forms.URLInput(attrs={"placeholder": example, "autocomplete": "off"})
        usual: dict[str, Any] = {"label": gettext_lazy("Address"), "max_length": 2000, "widget": widget}
        super().__init__(**usual | options)
        self._example = example

    def clean(self, value: Any) -> str:
        typed: str = super().clean(value)
        if not typed:
            return typed
        try:
            url = check_url(typed)
            http.probe(url, PROBE_SECONDS)
        except RefusedURL as refusal:
            raise forms.ValidationError(str(refusal).replace(EXAMPLE, self._example)) from None
        except http.NotSent as failure:
            raise forms.ValidationError(remedy(failure)) from None
        return url


class ServerField(AddressField):
    """The address of a server, with the path under which a proxy serves it. Its value is without the final slash."""

    def clean(self, value: Any) -> str:
        server = super().clean(value)
        if "?" in server:
            text = _("Leave out everything after the server's name; it looks like %(public)s.")
            raise forms.ValidationError(text % {"public": self._example})
        return server.rstrip("/")


def remedy(failure: http.NotSent) -> str:
    """Say why a probe refused an address, and what to do."""
    return (
        str(failure)
        if failure.refused
        else _("%(failure)s Use an address with a valid certificate, or renew this one.") % {"failure": failure}
    )


MAX_HEADERS = 10

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,999}[\x21-\x7e])?")

# Headers that frame or route the request, or identify it as ours.
_RESERVED = re.compile(
    r"(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept-encoding|forwarded|via"
    r"|(content|webhook|svix|proxy|x-forwarded|sec)-.*)",
    re.IGNORECASE,
)


class HeadersField(forms.CharField):
    """Headers by name, or one per line, cleaned to the former. They often hold a token."""

    def __init__(self, **options: Any) -> None:
        options = (
            dict[str, Any](
                label=gettext_lazy("Headers"),
                required=False,
                max_length=8000,
                widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off", "spellcheck": "false"}),
                error_messages={
                    "max_length": gettext_lazy("The headers have at most %(limit_value)d characters in all.")
                },
            )
            | options
        )
        super().__init__(**options)

    def clean(self, value: Any) -> Any:
        if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
            given = list(value.items())
            self.run_validators("".join(map("".join, given)))
        else:
            lines = filter(None, map(str.strip, super().clean(value).splitlines()))
            given = [(name, text) for name, _colon, text in (line.partition(":") for line in lines)]
        if len(given) > MAX_HEADERS:
            problem = _("There are %(count)s headers; use at most %(most)s.")
            raise forms.ValidationError(problem % {"count": len(given), "most": MAX_HEADERS})
        headers: dict[str, str] = {}
        for number, (name, text) in enumerate(given, 1):
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(text := text.strip(" \t")):
                problem = _("Line %(number)s is not a header. Write one like Authorization: Bearer …")
                raise forms.ValidationError(problem % {"number": number})
            if _RESERVED.fullmatch(name):
                raise forms.ValidationError(_("Carillon sets %(name)s itself. Leave it out.") % {"name": name})
            if name.lower() in map(str.lower, headers):
                raise forms.ValidationError(_("%(name)s appears twice. Leave one of them out.") % {"name": name})
            headers[name] = text
        return headers
