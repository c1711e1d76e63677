"""Forms of teams: a new one, and an invitation."""

from django import forms
from django.utils.translation import gettext_lazy as _

from people import mailboxes
from people.models import Invitation, Role, User, validate_printable


class TeamForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    name = forms.CharField(
        label=_("Name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": _("Family")}),
        error_messages={"required": _("Give the team a name.")},
    )

    class Meta:
        model = User
        fields = ["name"]


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    address = forms.EmailField(
        label=_("Email address"),
        required=False,
        validators=[validate_printable],
        widget=forms.EmailInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_(
            "The link in the mail works for the account that has confirmed this address. Empty: a link for one person."
        ),
    )
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.MEMBER)

    class Meta:
        model = Invitation
        fields = ["address", "role"]

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"].lower()
        if address and mailboxes.is_refused(address) and not mailboxes.is_confirmed(address):
            raise forms.ValidationError(mailboxes.REFUSED)
        return address
