"""The field of an address that a person names and Carillon posts to."""

from __future__ import annotations

from typing import Any

from django import forms

from notifications.net import http
from notifications.net.address_policy import EXAMPLE, RefusedURL, check_url

PATIENCE = 5.0
"""Seconds that a person waits at most, until the address is taken as it stands."""

_REMEDY = {
    True: "Use a public address.",
    False: "Use one whose certificate is valid, or have this one renewed.",
}


class AddressField(forms.CharField):
    """An address on the web, in its canonical form.

    It is called at once, and nothing is said: one that leads into a private network or shows a certificate that is not
    valid would be refused at every send. One that only does not answer is taken, for that may pass. `example` is a
    right one, told where this one is wrong.
    """

    def __init__(self, *, example: str = EXAMPLE, **options: Any) -> None:
        super().__init__(**options)
        self._example = example

    def clean(self, value: Any) -> str:
        """Return the address. Raises ValidationError."""
        typed: str = super().clean(value)
        if not typed:
            return typed
        try:
            url = check_url(typed)
            http.examine(url, PATIENCE)
        except RefusedURL as refusal:
            raise forms.ValidationError(str(refusal).replace(EXAMPLE, self._example)) from None
        except http.NotSent as failure:
            raise forms.ValidationError(f"{failure.reason} {_REMEDY[failure.refused]}") from None
        return url
