"""The form field for headers that a request carries."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

MAX_HEADERS = 10

_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}):[ \t]*([\x21-\x7e](?:[\x20-\x7e]{0,999}[\x21-\x7e])?)")

# Headers that frame or route the request, or identify it as ours.
_RESERVED = re.compile(
    r"(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept-encoding|forwarded|via"
    r"|(content|webhook|svix|proxy|x-forwarded|sec)-.*)",
    re.IGNORECASE,
)


class HeadersField(forms.CharField):
    """Headers, one per line; its value are the headers by name. They often hold a token."""

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
        lines = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(lines) > MAX_HEADERS:
            raise forms.ValidationError(
                _("There are %(count)s headers; use at most %(most)s.") % {"count": len(lines), "most": MAX_HEADERS}
            )
        headers: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            if (match := _HEADER.fullmatch(line)) is None:
                raise forms.ValidationError(
                    _("Line %(number)s is not a header. Write one like Authorization: Bearer …") % {"number": number}
                )
            name, text = match.groups()
            if _RESERVED.fullmatch(name):
                raise forms.ValidationError(_("Carillon sets %(name)s itself. Leave it out.") % {"name": name})
            if name.lower() in map(str.lower, headers):
                raise forms.ValidationError(_("%(name)s appears twice. Leave one of them out.") % {"name": name})
            headers[name] = text
        return headers
