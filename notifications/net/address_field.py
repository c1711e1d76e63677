"""The form field for an address that Carillon posts to."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _

from notifications.net import http
from notifications.net.address_policy import EXAMPLE, RefusedURL, check_url

PROBE_SECONDS = 5.0
"""Seconds that a form waits for an address before it accepts it untested."""


class AddressField(forms.CharField):
    """A web address in canonical form.

    Probes the address and refuses one that every send would fail at: in a private network, or with an invalid
    certificate. Accepts one that does not answer, because that may pass. `example` is shown in errors.
    """

    def __init__(self, *, example: str = EXAMPLE, **options: Any) -> None:
        super().__init__(**options)
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
            raise forms.ValidationError(
                _("Leave out everything after the server's name; it looks like %(public)s.") % {"public": self._example}
            )
        return server.rstrip("/")


def remedy(failure: http.NotSent) -> str:
    """Say why a probe refused an address, and what to do."""
    return (
        str(failure)
        if failure.refused
        else _("%(failure)s Use an address with a valid certificate, or renew this one.") % {"failure": failure}
    )
