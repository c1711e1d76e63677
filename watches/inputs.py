"""The form of a watch: its name, when it expects a ping, and how it notifies."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import Differences, EditForm, SharedFields, refuse
from common.texts.types import StrOrPromise
from common.texts.written import check_line, check_text
from common.uuid7 import uuid7
from events.inputs.seconds_field import SecondsField
from events.runs import incidents
from notifications.inputs.channels_form import ChannelsForm, channel_rows, compared
from notifications.models import Channel
from people.models import User
from schedules.inputs.list_fields import TagsField, refuse_commas
from schedules.inputs.nag_form import NagForm
from schedules.inputs.timing_form import KINDS, TimingForm, first_values, typed
from schedules.rules import Timetable
from watches import changes, timing
from watches.changes import TYPED
from watches.models import Watch

_DAY = 86_400


class WordsField(forms.CharField):
    """Words or phrases separated by commas, or a list of them; at most ten."""

    _LONGEST, _MOST = 60, 10

    def __init__(self, *, label: StrOrPromise, help_text: StrOrPromise = "") -> None:
        widget = forms.TextInput(attrs={"autocomplete": "off"})
        super().__init__(label=label, required=False, help_text=help_text, widget=widget)

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]  # as Django's own fields do
        typed = value if isinstance(value, list) else str(super().to_python(value) or "").split(",")
        refuse_commas(typed)
        words = list(dict.fromkeys(filter(None, (word.strip() for word in typed))))
        if len(words) > self._MOST or any(len(word) > self._LONGEST for word in words):
            text = _("Enter at most %(most)d words, each of at most %(longest)d characters.")
            raise forms.ValidationError(text % {"most": self._MOST, "longest": self._LONGEST}, "too_many")
        for word in words:
            check_line(word)
        return words

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value


class WatchForm(EditForm, ChannelsForm, NagForm, TimingForm):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": gettext_lazy("Nightly backup")}),
        validators=[check_line],
        error_messages={"required": gettext_lazy("Enter a name, such as “Nightly backup”.")},
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        validators=[check_text],
        help_text=gettext_lazy("What to do if it fails. Messages repeat it."),
    )
    tags = TagsField(label=gettext_lazy("Tags"), required=False, help_text=gettext_lazy("Separated by commas."))
    kind = forms.ChoiceField(
        label=gettext_lazy("Expected"),
        choices=[(Watch.SINCE, gettext_lazy("After the last ping")), *KINDS[1:]],
        initial=Watch.SINCE,
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose one of these timings.")),
    )
    period = SecondsField(
        label=gettext_lazy("Expect a ping every"),
        least=60,
        most=366 * _DAY,
        help_text=gettext_lazy("Counted from the last ping."),
        needed=True,
    )
    grace = SecondsField(
        label=gettext_lazy("Grace"),
        least=1,
        most=31 * _DAY,
        help_text=gettext_lazy("How much later a ping may come before this rings."),
        needed=True,
    )
    longest_run = SecondsField(
        label=gettext_lazy("Longest run"),
        least=1,
        most=31 * _DAY,
        help_text=gettext_lazy("Rings if a run takes longer, from its start ping to its end."),
    )
    slug = forms.CharField(
        label=gettext_lazy("Slug"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "nightly-backup"}),
        validators=[RegexValidator("^[a-z0-9_-]*$", gettext_lazy("Use small letters, digits, - and _ only."), "slug")],
        help_text=gettext_lazy("For a second address, by your ping key and this word."),
    )
    lock = forms.CharField(
        label=gettext_lazy("Lock"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        validators=[check_line],
        help_text=gettext_lazy("A run holds it from its start ping to its end, for the longest run at most."),
    )
    success_words = WordsField(
        label=gettext_lazy("Success if the output contains"), help_text=gettext_lazy("Without one of these: a failure.")
    )
    failure_words = WordsField(label=gettext_lazy("Failure if the output contains"))
    ignore_words = WordsField(label=gettext_lazy("Ignored if the output contains"))
    opens_incident = forms.BooleanField(
        label=gettext_lazy("Open an incident"),
        required=False,
        help_text=gettext_lazy(
            "A miss or a failure rings as the settings of your incidents say, not on the channels above."
        ),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: User,
        now: datetime,
        watch: Watch | None = None,
        parameters: Mapping[str, Any] | None = None,
        also: Iterable[UUID] = (),
    ) -> None:
        """`parameters`: see `TimingForm`; `also`: see `offer_channels`."""
        super().__init__(data, now=now, parameters=parameters)
        if not self.is_typed:
            first = first_values(user, now) | {"kind": Watch.SINCE, "period": _DAY, "grace": 3600}
            self.initial = first if watch is None else _stored(watch, now)
        self._user, self._watch, self.is_new = user, watch, watch is None
        self._watches = self.offer_channels(user, "watches_watch", watch, also)
        self.offer_nag_channels(watch)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self.check_room(self._watches, settings.MOST_WATCHES, changes.limit_reached())
        if "grace" not in self.errors and not cleaned.get("grace"):
            refuse(self, "grace", "required", _("Enter how much later a ping may come, such as 10 minutes."))
        if cleaned.get("lock") and not cleaned.get("longest_run") and "longest_run" not in self.errors:
            refuse(self, "longest_run", "required", _("Enter how long a run may hold the lock, such as 2 hours."))
        own = self._watch.id if self._watch else uuid7()
        if changes.slug_is_taken(Watch(id=own, user=self._user, slug=cleaned.get("slug", ""))):
            refuse(self, "slug", "taken", _("Another watch of yours has this slug. Choose another one."))
        if cleaned.get("opens_incident") and not incidents.is_on(self._user):
            problem = _("Incidents are switched off. Switch them on first, on the page “Incidents”.")
            refuse(self, "opens_incident", "no_incidents", problem)
        return cleaned

    def _read(self, cleaned: dict[str, Any], zone: str) -> Timetable | None:
        if cleaned["kind"] != Watch.SINCE:
            cleaned["period"] = None
            return super()._read(cleaned, zone)
        if not cleaned.get("period"):
            self._refuse("period", _("Enter how often a ping comes, such as 1 day."), "required")
        return None

    def as_watch(self) -> Watch:
        """The watch that a valid form describes, not saved."""
        cleaned, timetable = self.cleaned_data, self.timetable
        if timetable is None:
            rule: dict[str, Any] = {"kind": Watch.SINCE, "time_zone": cleaned["time_zone"] or "UTC"}
        else:
            rule = timetable.row() | {"excluded": cleaned["excluded"]}
        plain = {name: cleaned[name] for name in _PLAIN}
        return Watch(user=self._user, channel_order=self.channel_order(), **plain, **rule, **self.row(self._watch))

    def change(self) -> Differences | None:
        wanted, channels = self.as_watch(), self.ordered()
        return self.try_to_save(
            lambda: changes.change(wanted, channels), lambda current: compared(_rows, current, wanted, channels)
        )


_PLAIN = [name for name in TYPED if name in WatchForm.base_fields and name not in Watch.TIMING]
WatchForm.base_fields = SharedFields(WatchForm.base_fields)


def _stored(watch: Watch, now: datetime) -> dict[str, Any]:
    plain = {name: getattr(watch, name) for name in (*_PLAIN, "version", "kind", "time_zone")}
    return plain if watch.period is not None else typed(watch, now) | plain


def _rows(watch: Watch, channels: Sequence[Channel]) -> list[tuple[str, str]]:
    return [
        (_("Name"), watch.name),
        (_("Description"), watch.description),
        (_("Tags"), ", ".join(watch.tags)),
        (_("Expected"), timing.when(watch)),
        (_("Grace"), timing.length(watch.grace)),
        (_("Longest run"), timing.length(watch.longest_run)),
        (_("Slug"), watch.slug),
        (_("Lock"), watch.lock),
        (_("Minutes until it rings again"), str(watch.nag_every or "")),
        (_("Rings again at most"), str(watch.nag_times or "")),
        (
            _("Words"),
            " · ".join(", ".join(words) for words in (watch.success_words, watch.failure_words, watch.ignore_words)),
        ),
        *channel_rows(watch, channels),
    ]
