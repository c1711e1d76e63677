"""Incidents of a person: acknowledged, resolved, switched on with their settings."""

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import uuid5

from django import forms
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import WholeNumberField
from events.flows.incident import ACKNOWLEDGED, LONGEST, RESOLVED, Incident, IncidentSettings
from events.intake import ledger
from events.intake.ledger import Happened
from events.models import FlowSettings, OpenAlert, Run
from events.pure import types
from events.pure.envelope import Envelope
from notifications.models import Channel, Notification
from notifications.models.channel import usable
from people.models import User

KEYS = "carillon:"
"""How the keys of alerts of this installation begin."""
_PLACES = ("first", "second", "third")


@transaction.atomic
def act(run: Run, type: str, again: int | None = None) -> bool:
    """Record that a person acknowledges or resolves an incident. Twice in one phase of it has no further effect.

    An operator who acknowledges a problem of the installation does so for the others who were told of it, unless it
    notifies `again` after so many minutes. False where it is not an incident, was stopped, or has ended.
    """
    if run.flow != Incident.name or run.status == Run.Status.STOPPED or run.ended_at is not None:
        return False
    happened = [_happened(run, type, types.SOURCE, **{} if again is None else {"again": again})]
    if type == ACKNOWLEDGED and again is None:
        happened += [_happened(one, type, run.user.email) for one in _of_other_operators(run)]
    ledger.record_all(happened)
    return True


def _happened(run: Run, type: str, source: str, **more: int) -> Happened:
    data: dict[str, Any] = {"key": run.key} | more
    if type == RESOLVED:
        data["title"] = run.state.get("title", "")
    key = str(uuid5(run.id, f"{type} {run.waits}"))
    return Happened(run.user_id, Envelope(type=type, data=data, source=source, key=key, correlation_id=run.chain))


def _of_other_operators(run: Run) -> Iterable[Run]:
    """Their open incidents of the same problem. Only what Carillon has told them of counts, not a key that looks so."""
    alerts = OpenAlert.objects.filter(alert=run.key.removeprefix(KEYS))
    if not run.key.startswith(KEYS) or not alerts.filter(user=run.user_id).exists():
        return []
    others = Run.objects.filter(user__in=alerts.values("user"), flow=Incident.name, key=run.key, ended_at=None)
    return others.exclude(user=run.user_id).exclude(status=Run.Status.STOPPED)


def answered(notification: Notification) -> None:
    """“Done” in the message of an incident acknowledges it, “Snooze” until then: no other channel gets it."""
    if notification.origin == Notification.Origin.EVENT and notification.origin_id:
        until = notification.snoozed_until
        left = None if until is None else math.ceil((until - timezone.now()) / timedelta(minutes=1))
        again = None if left is None else min(LONGEST, max(1, left))
        for run in Run.objects.filter(id=notification.origin_id, flow=Incident.name, ended_at=None):
            act(run, ACKNOWLEDGED, again)


def is_on(user: User) -> bool:
    """Whether their alerts open incidents."""
    return FlowSettings.objects.filter(user=user, flow=Incident.name, enabled=True).exists()


class IncidentForm(forms.Form):
    """Whether a person's alerts become incidents, and whom these notify."""

    enabled = forms.BooleanField(label=gettext_lazy("Alerts open incidents"), required=False, initial=True)
    first, second, third = (
        forms.ModelChoiceField(
            queryset=Channel.objects.none(),
            required=not number,
            label=label,
            empty_label=gettext_lazy("No other channel") if number else gettext_lazy("Choose a channel"),
            error_messages={
                "required": gettext_lazy("Choose at least one channel."),
                "invalid_choice": gettext_lazy("This is not one of your channels. Choose from those listed."),
            },
        )
        for number, label in enumerate(
            (gettext_lazy("Rings first"), gettext_lazy("Rings second"), gettext_lazy("Rings third"))
        )
    )
    wait = WholeNumberField(gettext_lazy("Minutes until the next channel rings"), 1, 1440, required=True)
    again = WholeNumberField(
        gettext_lazy("Minutes until an acknowledged incident rings again"), 1, 10_080, required=True
    )
    flapping = WholeNumberField(
        gettext_lazy("Minutes in which the same alert opens the same incident again"), 1, 1440, required=True
    )
    installation = forms.BooleanField(
        label=gettext_lazy("Tell me of problems of this installation"),
        help_text=gettext_lazy(
            "Dead letters, a stopped beat, queues without a worker, periodic tasks that do not run, work that waits, "
            "reminders that cannot be read, full disks, providers that refuse everybody."
        ),
        required=False,
    )

    def __init__(self, posted: Any, user: User) -> None:
        stored = FlowSettings.objects.filter(user=user, flow=Incident.name).first()
        defaults = {name: field.default for name, field in IncidentSettings.model_fields.items() if name != "channels"}
        own = Channel.objects.for_user(user).filter(usable()).order_by("id")
        values = stored.settings | {"enabled": stored.enabled} if stored else {}
        chosen = dict(zip(_PLACES, values.pop("channels", []), strict=False))
        super().__init__(posted, initial=defaults | values | chosen)
        self.user = user
        for name in _PLACES:
            field: Any = self.fields[name]
            field.queryset = own
        if not user.is_staff:
            del self.fields["installation"]

    def save(self) -> None:
        chosen = [self.cleaned_data[name] for name in _PLACES]
        values = IncidentSettings(
            channels=[*dict.fromkeys(one.id for one in chosen if one is not None)],
            installation=self.cleaned_data.get("installation", False),
            **{name: self.cleaned_data[name] for name in ("wait", "again", "flapping")},
        )
        FlowSettings.objects.update_or_create(
            user=self.user,
            flow=Incident.name,
            defaults={"enabled": self.cleaned_data["enabled"], "settings": values.model_dump(mode="json")},
        )


def phase(run: Run) -> str | None:
    """Of an incident, while its state can be read; None for a run of another flow. One that has ended is resolved."""
    if run.flow != Incident.name or not isinstance(run.state, dict):
        return None
    return "resolved" if run.ended_at else run.state.get("phase")


def title(run: Run) -> str:
    """Of a run of any flow, for lists."""
    if run.flow == Incident.name and isinstance(run.state, dict):
        return str(run.state.get("title") or run.key)
    return run.key or _("run")
