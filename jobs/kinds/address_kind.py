"""Shared parts of the kinds that read an address, with the headers of a connection or without."""

from abc import ABC
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.utils.translation import gettext_lazy

from common.forms.edit_form import WholeNumberField
from jobs.kinds.base import LONGEST_FRESH, Ask, JobKind
from jobs.reading.fetch import Fetch, Refused, Unfit, origin, problem
from jobs.reasons import JobCode
from notifications.net.address_field import AddressField
from notifications.net.http import Response
from work.reasons import Reason


class AddressForm(forms.Form):
    url = AddressField(
        example="https://example.org/offers",
        error_messages={"required": gettext_lazy("Enter the address to check, such as https://example.org/offers.")},
    )
    fresh_for = WholeNumberField(
        gettext_lazy("Oldest answer to use (seconds)"),
        0,
        int(LONGEST_FRESH),
        initial=30,
        help_text=gettext_lazy(
            "Where many people check the same, such as one price on one page, one request serves all of them. "
            "0: this reminder always makes its own. What a connection may read is never shared with anybody else."
        ),
    )


class AddressKind(JobKind, ABC):
    """Reads `payload["url"]`. A connection lends its headers to addresses of its own host."""

    connection = "address"
    needs_connection = False
    conditional = True

    def payload(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        fresh = cleaned.get("fresh_for")
        return {"url": cleaned["url"]} | ({"fresh_for": fresh} if fresh else {})

    def form_initial(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Without a choice, as in what was stored before there was one, each check makes a request of its own."""
        return {"fresh_for": 0, **payload}

    def fresh(self, payload: Mapping[str, Any]) -> float:
        chosen = payload.get("fresh_for")
        return min(max(chosen, 0), LONGEST_FRESH) if type(chosen) is int else self.fresh_for

    def read(self, ask: Ask, fetch: Fetch) -> Response:
        """Return the page. Raises what `fetch` does, and Unfit for an answer that is not a success."""
        url, host = ask.payload.get("url"), host_of(ask.payload)
        if not host or not isinstance(url, str):
            raise Unfit(Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem=Reason(JobCode.NO_ADDRESS))))
        headers: Mapping[str, str] = {}
        if ask.source is not None:
            headers = ask.source.secrets
            if origin(url) != origin(str(ask.source.address.get("url"))):
                raise Unfit(Refused(Reason(JobCode.OTHER_HOST, label=ask.source.label, host=host)))
        response = fetch.get(url, headers, service=host)
        if unfit := problem(response, host, secret=bool(headers)):
            raise Unfit(unfit)
        return response


def host_of(payload: Mapping[str, Any]) -> str:
    """The host that is checked, for people; "" for a damaged payload."""
    try:
        return urlsplit(str(payload.get("url"))).hostname or ""
    except ValueError:
        return ""
