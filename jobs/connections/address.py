"""Any web address, with the headers that it needs."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy, gettext_noop

from jobs.connections.base import ConnectionKind
from jobs.reading.fetch import Fetch, Later, Refused, problem
from notifications.messages.message import Destination
from notifications.net.address_field import AddressField, HeadersField

_EXAMPLE = "https://example.org/prices.json"


class AddressForm(forms.Form):
    url = AddressField(
        example=_EXAMPLE,
        help_text=gettext_lazy("It is shown on your pages. Put what is secret into a header."),
        error_messages={
            "required": format_lazy(gettext_lazy("Enter the address to read, such as {example}."), example=_EXAMPLE)
        },
    )
    headers = HeadersField(
        help_text=gettext_lazy("Headers that the site requires, one per line, such as Authorization: Bearer …")
    )


class Address(ConnectionKind):
    """Address {"url"}; the secrets are the headers' values, by their names."""

    name = "address"
    label = gettext_lazy("Web address")
    about = gettext_lazy(
        "A page, a feed or an API that needs headers, such as an Authorization. One without needs no connection."
    )
    form = AddressForm

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        return Destination({"url": cleaned["url"]}, cleaned["headers"] or {})

    def form_secrets(self, destination: Destination) -> dict[str, Any]:
        return {"headers": dict(destination.secrets)} if destination.secrets else {}

    def summary(self, address: Mapping[str, Any]) -> str:
        return str(address.get("url", ""))

    def check(self, stored: Destination, fetch: Fetch) -> Mapping[str, Any] | Later | Refused:
        return problem(fetch.get(stored.address["url"], stored.secrets), gettext_noop("The address")) or stored.address
