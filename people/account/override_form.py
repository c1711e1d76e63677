"""The form by which another member of a team is on call for a while, for the page and the API."""

from datetime import timedelta
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from people import teams
from people.models import CallOverride, User

_FURTHEST = timedelta(days=730)
_MOST_OVERRIDES = 50  # of a team


class _WallClock(forms.DateTimeField):
    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except ValidationError as error:
            if error.code != "ambiguous_timezone":
                raise
            raise ValidationError(_("The clock is changed at this time. Choose another one."), error.code) from None


class OverrideForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    class Meta:
        model = CallOverride
        fields = ["member", "begins_at", "ends_at"]
        field_classes = dict.fromkeys(("begins_at", "ends_at"), _WallClock)
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
        self.team = team
        field = cast(forms.ModelChoiceField, self.fields["member"])  # type: ignore[type-arg]  # as above
        field.queryset = teams.recipients(team.pk).select_related("person")
        field.empty_label = _("Choose a member")
        field.label_from_instance = lambda one: one.person.get_full_name()  # type: ignore[assignment,method-assign]

    def clean(self) -> dict[str, Any]:
        super().clean()
        cleaned: dict[str, Any] = self.cleaned_data
        begins, ends, now = cleaned.get("begins_at"), cleaned.get("ends_at"), timezone.now()
        if begins and ends and begins >= ends:
            self.add_error("ends_at", _("Choose a time after the beginning."))
        elif ends and ends <= now:
            self.add_error("ends_at", _("Choose a time in the future."))
        for name, instant in (("begins_at", begins), ("ends_at", ends)):
            if instant and abs(instant - now) > _FURTHEST:
                self.add_error(name, _("Choose a time within two years."))
        if CallOverride.objects.filter(member__team=self.team, ends_at__gt=now).count() >= _MOST_OVERRIDES:
            text = _("There are {most} changes already, which is the limit. Remove one.")
            self.add_error(None, format_lazy(text, most=_MOST_OVERRIDES))
        return cleaned

    def save(self, commit: bool = True) -> CallOverride:
        """Also deletes those of the team that have ended. The caller holds the team's lock.

        The same as one that exists is that one: its form was sent twice.
        """
        CallOverride.objects.filter(member__team=self.team, ends_at__lte=timezone.now()).delete()
        return CallOverride.objects.filter(**self.cleaned_data).first() or super().save(commit)
