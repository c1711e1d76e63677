"""The types of changes, and how people choose some of them."""

from django.utils.translation import gettext as _

TYPES = {
    "delivery": ("delivered", "dead", "unknown", "cancelled", "expired"),
    "notification": ("open", "full", "partial", "failed", "dropped"),
    "schedule": (
        *("created", "edited", "paused", "resumed", "snoozed", "unskipped", "deleted", "restored", "reclocked"),
        *("archived", "unarchived", "done", "undone"),
        *("fired", "skipped", "finished", "broken"),
    ),
    "channel": ("added", "verified", "disabled", "enabled", "removed"),
}
"""By noun; the type of a change is `delivery.delivered`."""

NOUNS = [f"{noun}.*" for noun in TYPES]
ALL = [f"{noun}.{verb}" for noun, verbs in TYPES.items() for verb in verbs]
CHOICES = {*NOUNS, *ALL}

STATUS = "status"
"""The provider and the origin of status webhooks. What is sent to them is not a change, so nothing repeats."""


class UnknownType(ValueError):
    """There is no such type. The message is for the person."""


def parse(types: str | list[str]) -> list[str]:
    """Each type once, of a list or a text with spaces or commas; `delivery.*` is all of a noun. Raises UnknownType."""
    given = list(dict.fromkeys(types.replace(",", " ").split() if isinstance(types, str) else types))
    unknown = next((name for name in given if name not in CHOICES), None)
    if unknown is not None or not given:
        verbs = "; ".join(f"{noun}.* ({', '.join(verbs)})" for noun, verbs in TYPES.items())
        remedy = _("Use types such as delivery.dead, or all of a noun: %(verbs)s.") % {"verbs": verbs}
        if not unknown:
            raise UnknownType(remedy)
        raise UnknownType(_("There is no type “%(type)s”. %(remedy)s") % {"type": unknown[:40], "remedy": remedy})
    return given
