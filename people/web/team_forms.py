"""Forms of teams: a new one, an invitation, and the order of who is on call."""

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from common.forms.edit_form import WholeNumberField
from common.texts.written import check_line
from people.models import Membership, OnCall, Role, validate_printable
from people.sign_in import mailboxes


class TeamForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=150,
        validators=[check_line],
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": _("Family")}),
        error_messages={"required": _("Give the team a name.")},
    )


class InvitationForm(forms.Form):
    address = forms.EmailField(
        label=_("Email address"),
        max_length=254,
        required=False,
        validators=[validate_printable],
        widget=forms.EmailInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_(
            "The link in the mail works for the account that has confirmed this address. Empty: a link for one person."
        ),
    )
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.MEMBER)

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"].lower()
        if address and mailboxes.is_refused(address) and not mailboxes.is_confirmed(address):
            raise forms.ValidationError(mailboxes.REFUSED)
        return address


class OnCallForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    minutes = WholeNumberField(_("Minutes until the next one is asked"), 1, 1440, required=True)

    class Meta:
        model = OnCall
        fields = ["first", "handover", "weekly", "minutes"]
        labels = {
            "first": _("The order begins on"),
            "handover": _("Handover at"),
            "weekly": _("The first one goes to the end every week"),
        }
        error_messages = {
            "first": {"required": _("Choose a date."), "invalid": _("Choose a date.")},
            "handover": dict.fromkeys(("required", "invalid"), _("Enter a time, such as 09:00.")),
        }
        widgets = {
            "first": forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
            "handover": forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        }

    def clean_first(self) -> date:
        first: date = self.cleaned_data["first"]
        if not 2000 <= first.year < 3000:
            raise forms.ValidationError(_("Choose a day of this millennium."))
        return first


class TurnForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    """One member's place and times. Both times, or none."""

    class Meta:
        model = Membership
        fields = ["call_place", "call_from", "call_until"]
        labels = {"call_place": _("Place in the order"), "call_from": _("From"), "call_until": _("Until")}
        widgets = {
            edge: forms.TimeInput(format="%H:%M", attrs={"type": "time"}) for edge in ("call_from", "call_until")
        }

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if (cleaned.get("call_from") is None) != (cleaned.get("call_until") is None):
            self.add_error("call_until", _("Enter both times, or leave both empty."))
        return cleaned
