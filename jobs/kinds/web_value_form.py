"""The form of a watched value."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs.kinds.address_kind import AddressForm
from jobs.reading import extract
from jobs.reading.numbers import number

HOW = {"json": "JSON", "html": "A web page", "text": "Text"}
CONDITIONS = {
    "changed": "changes",
    "above": "goes above",
    "below": "goes below",
    "by": "rises or falls by at least",
    "equals": "is exactly",
    "contains": "contains",
    "unreachable": "cannot be reached",
}
NUMERIC = ("above", "below", "by")
WITH_LIMIT = (*NUMERIC, "equals", "contains")
# Those that hold or do not hold; the others compare with the look before.
STATES = ("above", "below", "equals", "contains", "unreachable")


class WebValueForm(AddressForm):
    condition = forms.ChoiceField(
        label="Remind me when it",
        choices=CONDITIONS.items,
        initial="changed",
        error_messages=dict.fromkeys(("required", "invalid_choice"), f"Choose one of {', '.join(CONDITIONS)}."),
    )
    limit = forms.CharField(
        label="Value",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "100"}),
        help_text=(
            "A number. “Rises or falls by at least” also takes a percentage, such as 5 %. “Is exactly” and “contains”"
            " take a text."
        ),
        error_messages={"max_length": "A value has at most %(limit_value)d characters."},
    )
    always = forms.BooleanField(
        label="Every time",
        required=False,
        help_text="Remind me at each look while it stays so, not only when it begins.",
    )
    how = forms.ChoiceField(
        label="Read as",
        choices=HOW.items,
        initial="html",
        required=False,
        error_messages={"invalid_choice": f"Choose one of {', '.join(HOW)}."},
    )
    expression = forms.CharField(
        label="Find",
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": ".price"}),
        help_text=(
            "For a web page a CSS selector, such as .price or meta[itemprop=price]::attr(content); body for all its"
            " text. For JSON a JMESPath expression, such as offers[0].price. For text a pattern, such as “Price: (.+)”."
        ),
        error_messages={"max_length": "This has at most %(limit_value)d characters."},
    )
    mark = forms.ChoiceField(
        label="Numbers are written",
        required=False,
        choices=[("", "Guess"), (".", "1,234.56"), (",", "1.234,56")],
        help_text="Look now shows how a number was read.",
        error_messages={"invalid_choice": "Choose “.” or “,” as the decimal mark, or none to guess it."},
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        condition = cleaned.get("condition", "")
        if condition in WITH_LIMIT and "limit" in cleaned:
            self._check_limit(condition, cleaned["limit"], cleaned.get("mark", ""))
        if condition and condition != "unreachable" and "expression" in cleaned:
            self._check_expression(cleaned.get("how") or "html", cleaned["expression"])
        return cleaned

    def _check_limit(self, condition: str, limit: str, mark: str) -> None:
        if not limit:
            self.add_error("limit", "Enter the value to compare with.")
        elif condition in NUMERIC and number(limit, mark) is None:
            self.add_error("limit", "Enter a number, such as 100 or 99.90.")
        elif condition == "by" and (number(limit, mark) or 0) <= 0:
            self.add_error("limit", "Enter a number above zero, such as 10 or 5 %.")

    def _check_expression(self, how: str, expression: str) -> None:
        if not expression:
            self.add_error("expression", "Enter where the value is, such as .price for a web page.")
            return
        try:
            extract.check(how, expression)
        except extract.Invalid as error:
            self.add_error("expression", str(error))
