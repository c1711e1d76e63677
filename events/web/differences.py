"""Compare two versions of a rule, field by field."""

from __future__ import annotations

from collections.abc import Callable

from events import words
from events.models import Rule
from events.rules import PLAIN, Draft
from notifications.web.channels_form import channel_names


def differences(rule: Rule, draft: Draft) -> list[tuple[str, str, str]]:
    """(label, saved, typed) for each field that either version has."""
    mine = Rule(**{name: getattr(draft, name) for name in PLAIN})
    rows = [(label, show(rule), show(mine)) for label, show in _SHOWN.items()]
    rows.append(
        (
            "Channels",
            channel_names(rule.ordered_channels(), bool(rule.channel_order)),
            channel_names(draft.channels, draft.in_order),
        )
    )
    rows.append(("Switched on", "Yes" if rule.enabled else "No", "Yes" if rule.enabled else "No"))
    return [row for row in rows if row[1] or row[2]]


_SHOWN: dict[str, Callable[[Rule], str]] = {
    "Name": lambda rule: rule.name,
    "Listens to": words.listens_to,
    "Conditions": lambda rule: "\n".join(words.conditions(rule)),
    "Title": lambda rule: rule.title,
    "Text": lambda rule: rule.body,
    "Limit": words.throttle,
    "Digest": words.digest,
    "Steps that follow": words.series,
    "Urgent": lambda rule: "Yes" if rule.urgent else "",
    "Minutes until the next channel": lambda rule: str(rule.escalate_after or ""),
}
