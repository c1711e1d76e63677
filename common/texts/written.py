"""Validators of texts that people write."""

import re
import unicodedata

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _, gettext_lazy

_PROBLEM = gettext_lazy("This contains a control character. Remove it.")

# U+FFFE and U+FFFF too: XML has neither.
check_text = RegexValidator(
    r"[^\t\n\r -~\u00a0-\ufffd\U00010000-\U0010ffff]", _PROBLEM, "control_character", inverse_match=True
)
"""Refuse control characters other than tabs and line breaks."""


def check_line(text: str) -> None:
    """Refuse control characters, also those of the direction of text, and a text in which nothing can be seen."""
    check_text(text)
    if re.search(r"[\t\n\r\u202a-\u202e\u2066-\u2069]", text):
        raise ValidationError(_PROBLEM, "control_character")
    if not any(unicodedata.category(one)[0] in "LNPS" for one in text):
        raise ValidationError(_("Enter at least one character that can be seen."), "invisible")
