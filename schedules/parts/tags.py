"""Tags of reminders: a person's own words, compared without regard to upper and lower case."""

from collections.abc import Iterable

from django.db.models import F, Func, Q

from people.models import User
from schedules.models import Schedule

MOST = 10
LONGEST = 30


def key(tag: str) -> str:
    """Equal for two spellings of one tag."""
    return tag.casefold()


def without_repeats(tags: Iterable[str]) -> list[str]:
    """Each tag once, in its first spelling, without superfluous blanks."""
    by_key: dict[str, str] = {}
    for tag in tags:
        if trimmed := " ".join(tag.split()):
            by_key.setdefault(key(trimmed), trimmed)
    return list(by_key.values())


def spellings(user: User) -> list[str]:
    """Every spelling of every tag of a person's reminders, in order."""
    # Without the order of the model, whose column would make each row distinct.
    tagged = Schedule.objects.for_user(user).exclude(tags=[]).order_by()
    spellings = tagged.annotate(tag=Func(F("tags"), function="unnest")).values_list("tag", flat=True).distinct()
    return sorted(spellings, key=lambda tag: (key(tag), tag))


def own(user: User) -> list[str]:
    return without_repeats(spellings(user))


def has(tag: str, spelled: Iterable[str]) -> Q:
    """The schedules with a tag; `spelled` are all spellings of their person."""
    same = [one for one in spelled if key(one) == key(tag)]
    return Q(tags__overlap=same) if same else Q(pk__in=[])
