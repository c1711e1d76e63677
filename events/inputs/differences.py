"""Compare two versions of a rule, of a topic or of a registered type, field by field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.db.models import Model
from django.utils.translation import gettext as _, gettext_lazy

from common.texts.types import StrOrPromise
from events.models import Rule
from events.rules import words
from notifications.inputs.channels_form import channel_rows
from notifications.models import Channel


def differences(saved: Rule, typed: Rule, channels: Sequence[Channel]) -> list[tuple[str, str, str]]:
    """(label, saved, typed) for each field that either version has; `channels` are those of the typed one."""
    rows = [(str(label), show(saved), show(typed)) for label, show in _SHOWN]
    both = zip(channel_rows(saved, saved.ordered_channels()), channel_rows(typed, channels), strict=True)
    rows += [(label, before, after) for (label, before), (_label, after) in both]
    enabled = _("Yes") if saved.enabled else _("No")
    rows.append((_("Switched on"), enabled, enabled))
    return [row for row in rows if row[1] or row[2]]


def of_form(current: Model, form: forms.ModelForm[Any]) -> list[tuple[str, str, str]]:
    def shown(name: str, value: Any) -> str:
        if isinstance(value, bool):
            return _("Yes") if value else _("No")
        return str(dict(getattr(form.fields[name], "choices", ())).get(value, value))

    return [
        (str(form[name].label), shown(name, getattr(current, name)), shown(name, form.cleaned_data[name]))
        for name in form._meta.fields or ()
        if name in form.fields
    ]


_SHOWN: tuple[tuple[StrOrPromise, Callable[[Rule], str]], ...] = (
    (gettext_lazy("Name"), lambda rule: rule.name),
    (gettext_lazy("Listens to"), words.listens_to),
    (gettext_lazy("Conditions"), lambda rule: "\n".join(words.conditions(rule))),
    (gettext_lazy("Title"), lambda rule: rule.title),
    (gettext_lazy("Text"), lambda rule: rule.body),
    (gettext_lazy("Limit"), words.throttle),
    (gettext_lazy("Digest"), words.digest),
    (gettext_lazy("Steps that follow"), words.series),
    (gettext_lazy("Urgent"), lambda rule: _("Yes") if rule.urgent else ""),
)
