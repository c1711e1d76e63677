"""Forms of channels, besides the provider's own: name, settings, code, change of address."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.forms.utils import pretty_name
from django.utils.translation import get_language, gettext as _, gettext_lazy

from notifications.messages.change_types import STATUS
from notifications.messages.message import Destination
from notifications.models import Channel
from notifications.providers.base import HasForm, Provider

_DROP = "drop_"


def name_field(**options: Any) -> forms.CharField:
    """Of a channel or a connection."""
    errors = {"required": gettext_lazy("Give the channel a name, such as “Phone”.")}
    return forms.CharField(label=gettext_lazy("Name"), max_length=80, error_messages=errors, **options)


class LabelForm(forms.Form):
    label = name_field(required=False, help_text=gettext_lazy("For example “Phone” or “Team chat”."))


class RenameForm(forms.Form):
    label = name_field()


class ChannelForm(RenameForm):
    """Settings of a channel other than its address."""

    use_for_new = forms.BooleanField(
        label=gettext_lazy("Use for new reminders"),
        required=False,
        help_text=gettext_lazy("Chosen already when you make a reminder or a rule."),
    )

    on_unknown = forms.ChoiceField(
        label=gettext_lazy("If Carillon cannot tell whether a message arrived"),
        required=False,
        help_text=gettext_lazy(
            "For example after a timeout or a crash. A held message waits in your history until you decide."
        ),
        error_messages={"invalid_choice": gettext_lazy("Choose the default, send again, or hold.")},
    )

    give_up_after = forms.TypedChoiceField(
        label=gettext_lazy("Stop trying after"),
        required=False,
        coerce=int,
        empty_value=None,
        choices=[("", gettext_lazy("Default")), *Channel.GiveUp.choices],
        help_text=gettext_lazy("Counted from the first try. A message that was given up waits in your history."),
        error_messages={"invalid_choice": gettext_lazy("Choose the default, or one of the times.")},
    )

    def __init__(self, posted: Mapping[str, Any] | None, channel: Channel, provider: Provider) -> None:
        super().__init__(posted, initial={name: getattr(channel, name) for name in self.base_fields})
        default = (
            _("Default for %(provider)s: send again; it detects duplicates")
            if provider.recognises_repeats
            else _("Default for %(provider)s: hold")
        )
        self.fields["on_unknown"].choices = [  # type: ignore[attr-defined]  # a ChoiceField
            ("", default % {"provider": provider.label}),
            (Channel.OnUnknown.RETRY, _("Send again: it may arrive twice")),
            (Channel.OnUnknown.HOLD, _("Hold: it may not have arrived")),
        ]
        if provider.is_pulled:  # nothing is sent
            del self.fields["on_unknown"], self.fields["give_up_after"]
        if provider.kind == STATUS:  # it takes no messages
            del self.fields["use_for_new"]

    def clean(self) -> dict[str, Any]:
        return {"use_for_new": False, "on_unknown": "", "give_up_after": None} | self.cleaned_data


class CodeForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=20,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "placeholder": "1234-5678"}
        ),
        error_messages={"required": gettext_lazy("Enter the eight digits that were sent, such as 1234-5678.")},
    )


class ChangeForm(forms.Form):
    """A mixin that turns a provider's form into one for an existing channel; see `change_form`.

    Secrets are not shown; one left empty is kept. A secret that Carillon generated is not asked for.
    """

    def __init__(self, posted: Mapping[str, Any] | None, provider: HasForm, stored: Destination) -> None:
        super().__init__(posted, initial=provider.form_initial(stored))
        self._provider, self._stored = provider, stored
        self._retained: set[str] = set()
        self.fields.pop(provider.revealed, None)
        for name, value in provider.form_secrets(stored).items():
            if name in self.fields:
                self._withhold(name, self.fields[name], value)

    def _withhold(self, name: str, field: forms.Field, value: Any) -> None:
        hint = _("Leave it empty to keep the stored value.")
        if field.required:
            field.required, field.help_text = False, f"{field.help_text} {hint}"
        else:
            field.help_text = hint
            label = str(field.label or pretty_name(name))
            if get_language() == settings.LANGUAGE_CODE:
                label = label.lower()  # other languages may write nouns with a capital
            self.fields[_DROP + name] = forms.BooleanField(
                required=False, label=_("Delete the stored %(label)s") % {"label": label}
            )
        field.widget.attrs["placeholder"] = _("unchanged")
        check = getattr(self, f"clean_{name}", lambda: self.cleaned_data[name])

        def clean() -> Any:
            if self.cleaned_data[name]:
                return check()
            self._retained.add(name)
            return value

        setattr(self, f"clean_{name}", clean)

    def clean(self) -> dict[str, Any]:
        """Return the data as for a new channel. A stored secret is never sent to another server."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in [name for name in self._retained if cleaned.get(_DROP + name)]:
            self._retained.remove(name)
            cleaned[name] = ""
        if (
            self._retained
            and not self.errors
            and self._provider.destination(cleaned).address.get("url") != self._stored.address.get("url")
        ):
            for name in self._retained:
                again = _("Enter it again: the stored value belongs to another server.")
                or_delete = _("Enter it again, or delete it: the stored value belongs to another server.")
                self.add_error(name, or_delete if _DROP + name in self.fields else again)
        return cleaned


def change_form(posted: Mapping[str, Any] | None, provider: HasForm, stored: Destination) -> ChangeForm:
    """The provider's form for the `stored` destination; `posted` is None on GET."""
    form = type("ProvidersChangeForm", (ChangeForm, provider.form), {})
    bound: ChangeForm = form(posted, provider, stored)
    return bound
