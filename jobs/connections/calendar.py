"""A calendar by its iCalendar address, which is itself the secret: it holds a token."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _, gettext_noop

from jobs.connections.base import ConnectionKind
from jobs.reading.fetch import Fetch, Later, Refused, problem
from jobs.reasons import JobCode
from notifications.messages.message import Destination
from notifications.net.address_field import AddressField
from work.reasons import Reason

_EXAMPLE = "https://example.org/calendar/basic.ics"


class CalendarField(AddressField):
    """An address; `webcal://` means https."""

    def to_python(self, value: Any) -> str:
        return re.sub(r"(?i)^webcals?://", "https://", super().to_python(value) or "")


class CalendarForm(forms.Form):
    url = CalendarField(
        example=_EXAMPLE,
        label=_("iCalendar address"),
        help_text=_("Google calls it “secret address in iCal format”, others a subscription. It is not shown again."),
        error_messages={
            "required": format_lazy(_("Enter the calendar's iCalendar address, such as {example}."), example=_EXAMPLE)
        },
    )


class Calendar(ConnectionKind):
    """Address {"host"}, secrets {"url"}."""

    name = "calendar"
    label = _("Calendar")
    position = 20
    about = _("A calendar that is read from an iCalendar address (.ics).")
    form = CalendarForm

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        return Destination({"host": urlsplit(cleaned["url"]).hostname}, {"url": cleaned["url"]})

    def summary(self, address: Mapping[str, Any]) -> str:
        return str(address.get("host") or "")

    def check(self, stored: Destination, fetch: Fetch) -> Mapping[str, Any] | Later | Refused:
        service = gettext_noop("The calendar")
        if not (url := stored.secrets.get("url")):
            return Refused(Reason(JobCode.CONNECTION_UNREADABLE))
        response = fetch.get(url, service=service)
        if failure := problem(response, service):
            return failure
        if not response.body.lstrip(b"\xef\xbb\xbf \r\n").upper().startswith(b"BEGIN:VCALENDAR"):
            return Refused(Reason(JobCode.NO_CALENDAR))
        return stored.address
