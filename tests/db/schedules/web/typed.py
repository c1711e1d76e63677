"""What a person types into the form of a reminder."""

from __future__ import annotations

from typing import Any

from notifications.models import Channel


def typed(*channels: Channel, **overrides: Any) -> dict[str, Any]:
    """A daily reminder at 09:00; a field given as None is left out."""
    fields: dict[str, Any] = {
        "title": "Water the plants",
        "body": "All of them.",
        "kind": "daily",
        "time": "09:00",
        "time_zone": "Europe/Berlin",
        "channels": [str(channel.id) for channel in channels],
    }
    return {name: value for name, value in (fields | overrides).items() if value is not None}
