"""Forms of teams: a new one, an invitation, and who is on call."""

from datetime import date, timedelta
from typing import Any, cast

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from people import mailboxes
from people.models import CallOverride, Invitation, Membership, OnCall, Role, User, validate_printable

_FURTHEST = timedelta(days=730)


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


class OnCallForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    minutes = forms.IntegerField(label=_("Minutes until the next one is asked"), min_value=1, max_value=1440)

    class Meta:
        model = OnCall
        fields = ["first", "handover", "weekly", "minutes"]
        labels = {
            "first": _("The order begins on"),
            "handover": _("Handover at"),
            "weekly": _("The first one goes to the end every week"),
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
        labels = {"call_place": _("Place"), "call_from": _("From"), "call_until": _("Until")}
        widgets = {
            edge: forms.TimeInput(format="%H:%M", attrs={"type": "time"}) for edge in ("call_from", "call_until")
        }

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if (cleaned.get("call_from") is None) != (cleaned.get("call_until") is None):
            self.add_error("call_until", _("Enter both times, or leave both empty."))
        return cleaned


class OverrideForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    class Meta:
        model = CallOverride
        fields = ["member", "begins_at", "ends_at"]
        labels = {"member": _("Instead"), "begins_at": _("From"), "ends_at": _("Until")}
        error_messages = {
            "member": {"required": _("Choose a member.")},
            "begins_at": {"required": _("Choose a date and a time.")},
            "ends_at": {"required": _("Choose a date and a time.")},
        }
        widgets = {
            edge: forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})
            for edge in ("begins_at", "ends_at")
        }

    def __init__(self, posted: Any, team: User) -> None:
        super().__init__(posted)
        field = cast(forms.ModelChoiceField, self.fields["member"])  # type: ignore[type-arg]  # as above
        field.queryset = Membership.objects.select_related("person").filter(team=team)
        field.label_from_instance = lambda one: one.person.get_full_name()  # type: ignore[assignment,method-assign]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        begins, ends = cleaned.get("begins_at"), cleaned.get("ends_at")
        if begins and ends and begins >= ends:
            self.add_error("ends_at", _("Choose a time after the beginning."))
        for name, instant in (("begins_at", begins), ("ends_at", ends)):
            if instant and abs(instant - timezone.now()) > _FURTHEST:
                self.add_error(name, _("Choose a time within two years."))
        return cleaned
