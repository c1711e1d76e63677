"""The input of a new API token, for its page and the API."""

from datetime import datetime, timedelta

from django import forms
from django.utils.translation import gettext_lazy

from common.texts.written import check_line
from people import tokens


class TokenForm(forms.Form):
    label = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": gettext_lazy("Backup script"), "autocomplete": "off"}),
        validators=[check_line],
        error_messages={"required": gettext_lazy("Give the token a name, such as “Backup script”.")},
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=list(tokens.SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": gettext_lazy("Choose at least one."),
            "invalid_choice": gettext_lazy("A token cannot have this right. Choose from those listed."),
        },
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expires"),
        choices=[
            ("30", gettext_lazy("after 30 days")),
            ("90", gettext_lazy("after 90 days")),
            ("365", gettext_lazy("after a year")),
            ("", gettext_lazy("never")),
        ],
        required=False,
        coerce=int,
        empty_value=None,
        initial="90",
        error_messages={"invalid_choice": gettext_lazy("Choose one of the times listed.")},
    )
    # The id of the new token, so that a form that is sent twice makes one token.
    made_as = forms.UUIDField(widget=forms.HiddenInput)

    def expires_at(self, now: datetime) -> datetime | None:
        days: int | None = self.cleaned_data["days"]
        return None if days is None else now + timedelta(days=days)
