"""A person's settings, for the page and for an import. Hours by weekday are seven pairs of times, or one object."""

from collections.abc import Iterator, Mapping
from datetime import time
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import dates
from django.utils.translation import gettext as _, gettext_lazy

from common.texts.written import check_line
from common.times import public_holidays
from people.models import Theme, User
from people.quiet import DAYS

_EDGES = ("from", "until")


class _Pairs(forms.Widget):
    use_fieldset = True

    def value_from_datadict(self, data: Mapping[str, Any], files: object, name: str) -> Any:
        if name in data:
            return data[name]
        pairs = {day: [data.get(f"{name}-{day}-{edge}", "") for edge in _EDGES] for day in DAYS}
        return {day: pair for day, pair in pairs.items() if any(pair)}

    def value_omitted_from_data(self, data: Mapping[str, Any], files: object, name: str) -> bool:
        return False


class WeeklyHoursField(forms.Field):
    """{"mon": ["08:00", "18:00"]}; empty where no hours are set."""

    widget = _Pairs

    def clean(self, value: Any) -> dict[str, list[str]]:
        if not value:
            return {}
        if not isinstance(value, Mapping) or not value.keys() <= set(DAYS):
            text = _("Write an object with days from mon to sun, such as %(example)s.")
            raise ValidationError(text % {"example": '{"mon": ["08:00", "18:00"]}'})
        return {day: _pair(number, value[day]) for number, day in enumerate(DAYS) if day in value}


def _pair(number: int, pair: Any) -> list[str]:
    try:
        opens, closes = pair
        return [f"{time.fromisoformat(edge):%H:%M}" for edge in (opens, closes)]
    except (TypeError, ValueError):
        text = _("%(day)s: enter both times, such as 08:00 and 18:00, or leave both empty.")
        raise ValidationError(text % {"day": dates.WEEKDAYS[number]}) from None


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        choices=lambda: [("", _("The one that the browser asks for")), *settings.LANGUAGES],
        help_text=gettext_lazy("For pages and messages. Your own texts stay as they are."),
        error_messages={"invalid_choice": gettext_lazy("Choose one of the languages listed.")},
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        widget=forms.TextInput(attrs={"list": "zones", "data-guess-zone": True, "autocomplete": "off"}),
        help_text=gettext_lazy("Used on all pages and as the default for new reminders."),
        error_messages={"required": gettext_lazy("Choose a time zone, such as Europe/Berlin.")},
    )

    theme = forms.ChoiceField(
        label=gettext_lazy("Theme"),
        choices=Theme.choices,
        required=False,
        error_messages={"invalid_choice": gettext_lazy("Choose one of the themes: system, light or dark.")},
    )

    weekly_hours = WeeklyHoursField(
        label=gettext_lazy("Hours by weekday instead"),
        required=False,
        help_text=gettext_lazy(
            "The hours in which messages may come. On a day without times, none come. 00:00 to 00:00 is a whole day."
        ),
    )
    public_holidays = forms.CharField(
        label=gettext_lazy("Public holidays of"),
        required=False,
        max_length=40,
        help_text=gettext_lazy(
            "A country or its region, such as DE, DE-BY or US-CA. Hours on a public holiday are those of Sunday, and "
            "reminders for working days leave it out."
        ),
    )

    class Meta:
        model = User
        fields = [
            *("name", "language", "time_zone", "quiet_from", "quiet_until", "weekly_hours", "public_holidays"),
            *("theme", "keyboard_shortcuts"),
        ]
        labels = {
            "name": gettext_lazy("Your name"),
            "quiet_from": gettext_lazy("Quiet from"),
            "quiet_until": gettext_lazy("Quiet until"),
            "keyboard_shortcuts": gettext_lazy("Keyboard shortcuts"),
        }
        help_texts = {
            "quiet_until": gettext_lazy(
                "Every day, in your time zone. Only urgent reminders and your inbox are not delayed. "
                "Reminders that are too old afterwards are not sent."
            ),
            "keyboard_shortcuts": gettext_lazy("Single keys that open pages, such as ? for the list of them."),
        }
        widgets = {"name": forms.TextInput(attrs={"autocomplete": "name"})} | {
            edge: forms.TimeInput(format="%H:%M", attrs={"type": "time", "autocomplete": "off"})
            for edge in ("quiet_from", "quiet_until")
        }
        error_messages = {
            edge: {"invalid": gettext_lazy("Enter a time from 00:00 to 23:59, such as 22:00, or leave it empty.")}
            for edge in ("quiet_from", "quiet_until")
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.is_team:
            del self.fields["theme"], self.fields["keyboard_shortcuts"]
            self.fields["name"].label, self.fields["name"].required = _("Name of the team"), True

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name and "name" in self.changed_data:
            check_line(name)
        return name

    def clean_public_holidays(self) -> str:
        code: str = self.cleaned_data["public_holidays"]
        try:
            return public_holidays.read(code) if code else ""
        except public_holidays.UnknownCountryError as error:
            if not error.regions:
                raise ValidationError(
                    _("Enter the two letters of a country, such as DE, or DE-BY for a region.")
                ) from None
            text = _("Enter a region of this country: %(regions)s.")
            raise ValidationError(text % {"regions": ", ".join(error.regions)}) from None

    def weekly_inputs(self) -> Iterator[dict[str, Any]]:
        """For each day from Monday its name, and the name and value of its two inputs."""
        field = self["weekly_hours"]
        value = field.value()
        pairs = value if isinstance(value, Mapping) else {}
        for number, day in enumerate(DAYS):
            pair = [*(pairs.get(day) or []), "", ""][:2]
            edges = [(f"{field.html_name}-{day}-{edge}", typed) for edge, typed in zip(_EDGES, pair, strict=True)]
            yield {"name": dates.WEEKDAYS[number], "edges": edges}

    def clean_theme(self) -> str:
        """Without a choice, it stays as it is."""
        return self.cleaned_data["theme"] or str(self.instance.theme)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        begins, ends = cleaned.get("quiet_from"), cleaned.get("quiet_until")
        for name, edge, other in (("quiet_from", begins, ends), ("quiet_until", ends, begins)):
            if edge is None and other is not None and name not in self.errors:
                self.add_error(name, _("Enter both times, or leave both empty."))
        if begins is not None and begins == ends:
            self.add_error("quiet_until", _("Enter two different times, or leave both empty."))
        if begins is not None and cleaned.get("weekly_hours"):
            self.add_error(
                "weekly_hours", _("Empty the quiet hours, or these hours by weekday: only one of them applies.")
            )
        return cleaned

    def save(self, commit: bool = True) -> User:
        """Only its own fields: meanwhile there may be another password, or the account be switched off."""
        user: User = self.instance
        user.save(update_fields=[*self.fields])
        return user
