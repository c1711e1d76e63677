"""Compare two versions of a rule, of a topic or of a registered type, field by field."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _

from common.forms.edit_form import Differences
from events.models import Rule
from events.rules import words
from notifications.inputs.channels_form import channel_rows, compared
from notifications.models import Channel


def differences(saved: Rule, typed: Rule, channels: Sequence[Channel]) -> Differences:
    enabled = _("Yes") if saved.enabled else _("No")
    return [*compared(_rows, saved, typed, channels), (_("Switched on"), enabled, enabled)]


def _rows(rule: Rule, channels: Sequence[Channel]) -> list[tuple[str, str]]:
    return [
        (_("Name"), rule.name),
        (_("Listens to"), words.listens_to(rule)),
        (_("Conditions"), "\n".join(words.conditions(rule))),
        (_("Title"), rule.title),
        (_("Text"), rule.body),
        (_("Limit"), words.throttle(rule)),
        (_("Digest"), words.digest(rule)),
        (_("Steps that follow"), words.series(rule)),
        (_("Urgent"), _("Yes") if rule.urgent else ""),
        *channel_rows(rule, channels),
    ]


def of_form(current: Model, form: Any) -> Differences:
    def shown(name: str, value: Any) -> str:
        if isinstance(value, bool):
            return _("Yes") if value else _("No")
        return str(dict(getattr(form.fields[name], "choices", ())).get(value, value))

    return [
        (str(form[name].label), shown(name, getattr(current, name)), shown(name, form.cleaned_data[name]))
        for name in form._meta.fields or ()
        if name in form.fields
    ]
