"""What a person types about a channel beyond what its provider asks."""

from __future__ import annotations

from django import forms


class LabelForm(forms.Form):
    label = forms.CharField(
        label="Name",
        max_length=80,
        required=False,
        help_text="What you call it, such as “Phone” or “Team chat”.",
        error_messages={"max_length": "This name is %(show_value)d characters long; at most %(limit_value)d fit."},
    )


class RenameForm(LabelForm):
    label = forms.CharField(
        label="Name",
        max_length=80,
        error_messages={
            "required": "Give the channel a name, such as “Phone”.",
            "max_length": "This name is %(show_value)d characters long; at most %(limit_value)d fit.",
        },
    )


class CodeForm(forms.Form):
    code = forms.CharField(
        label="Code",
        max_length=20,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "placeholder": "1234-5678"}
        ),
        error_messages={"required": "Write the eight digits that were sent, such as 1234-5678."},
    )
