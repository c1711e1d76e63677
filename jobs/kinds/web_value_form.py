"""The form of a watched value."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import refuse
from common.texts.numbers import amount
from common.texts.refusal import Refusal
from jobs.kinds.address_kind import AddressForm
from jobs.reading import extract
from jobs.reading.numbers import number, read, shown

HOW = {"json": "JSON", "html": gettext_lazy("A web page"), "text": gettext_lazy("Text")}
CONDITIONS = {
    "always": gettext_lazy("always"),
    "changed": gettext_lazy("only if it changes"),
    "above": gettext_lazy("only if it goes above"),
    "below": gettext_lazy("only if it goes below"),
    "by": gettext_lazy("only if it rises or falls by at least"),
    "equals": gettext_lazy("only if it is exactly"),
    "contains": gettext_lazy("only if it contains"),
    "unreachable": gettext_lazy("only if it cannot be reached"),
}
NUMERIC = ("above", "below", "by")
WITH_LIMIT = (*NUMERIC, "equals", "contains")
# Those that hold or do not hold; the others compare with the check before.
STATES = ("above", "below", "equals", "contains", "unreachable")


class WebValueForm(AddressForm):
    # The field of `AddressForm` that is seldom changed comes last.
    field_order = ("url", "how", "expression", "name", "condition", "limit", "always", "mark")

    condition = forms.ChoiceField(
        label=gettext_lazy("Remind me of it"),
        choices=CONDITIONS.items,
        initial="changed",
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"),
            format_lazy(gettext_lazy("Choose one of {names}."), names=", ".join(CONDITIONS)),
        ),
    )
    limit = forms.CharField(
        label=gettext_lazy("Value"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "100", "data-limit": ""}),
        help_text=gettext_lazy(
            "A number. “Rises or falls by at least” also takes a percentage, such as 5 %. “Is exactly” and "
            "“contains” take a text."
        ),
    )
    always = forms.BooleanField(
        label=gettext_lazy("Every time"),
        required=False,
        help_text=gettext_lazy("Remind me at each check while it stays so, not only when it begins."),
    )
    how = forms.ChoiceField(
        label=gettext_lazy("Read as"),
        choices=HOW.items,
        initial="html",
        required=False,
        error_messages={"invalid_choice": format_lazy(gettext_lazy("Choose one of {names}."), names=", ".join(HOW))},
    )
    expression = forms.CharField(
        label=gettext_lazy("Find"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": ".price"}),
        help_text=gettext_lazy(
            "For a web page a CSS selector, such as .price or meta[itemprop=price]::attr(content); body for all "
            "its text. For JSON a JMESPath expression, such as offers[0].price. For text a pattern, such as "
            "“Price: (.+)”."
        ),
    )
    name = forms.CharField(
        label=gettext_lazy("Your name for it"),
        required=False,
        max_length=60,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Such as: price. It stands beside the path, and for {label} in the texts."),
    )
    mark = forms.ChoiceField(
        label=gettext_lazy("Numbers are written"),
        required=False,
        choices=[("", gettext_lazy("Guess")), (".", "1,234.56"), (",", "1.234,56")],
        help_text=gettext_lazy("Check now shows how a number was read."),
        error_messages={"invalid_choice": gettext_lazy("Choose “.” or “,” as the decimal mark, or none to guess it.")},
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if (condition := cleaned.get("condition", "")) in WITH_LIMIT and "limit" in cleaned:
            self._check_limit(condition, cleaned["limit"], cleaned.get("mark", ""))
        if condition and condition != "unreachable" and "expression" in cleaned:
            self._check_expression(cleaned.get("how") or "html", cleaned["expression"])
        return cleaned

    def _check_limit(self, condition: str, limit: str, mark: str) -> None:
        if not limit:
            refuse(self, "limit", "required", _("Enter the value to compare with."))
        elif condition in NUMERIC and (number_read := read(limit, mark)) is None:
            refuse(self, "limit", "not_a_number", _("Enter a number, such as 100 or 99.90."))
        elif condition in NUMERIC and number_read and number_read.other is not None:
            both = {"number": amount(shown(number_read.value), ""), "other": amount(shown(number_read.other), "")}
            text = _("This may be %(number)s or %(other)s. Choose how numbers are written.")
            refuse(self, "limit", "two_numbers", text % both)
        elif condition == "by" and (number(limit, mark) or 0) <= 0:
            refuse(self, "limit", "not_positive", _("Enter a number above zero, such as 10 or 5 %."))

    def _check_expression(self, how: str, expression: str) -> None:
        if not expression:
            refuse(self, "expression", "required", _("Enter where the value is, such as .price for a web page."))
            return
        try:
            extract.check(how, expression)
        except Refusal as refusal:
            refuse(self, "expression", refusal.code, str(refusal))
