"""The sentences of rules: what a rule listens to, how often it rings, and the limit of a person."""

from __future__ import annotations

from django.conf import settings

from events import matching
from events.matching import Condition
from events.models import Rule
from events.reasons import OPERATORS
from work.reasons import FORMATS


def listens_to(rule: Rule) -> str:
    pattern = "any event" if rule.type_pattern == "*" else rule.type_pattern
    return f"{pattern} from {rule.source}" if rule.source else pattern


def condition(one: Condition) -> str:
    """ "data.amount is above 100"."""
    words = f"{one.field} {OPERATORS[one.operator]}"
    if one.operator == "exists":
        return words
    return f"{words} {matching.shown(one.value) or '(empty)'}"


def conditions(rule: Rule) -> list[str]:
    try:
        return [condition(one) for one in matching.read_conditions(rule.conditions)]
    except ValueError:
        return ["Its conditions are damaged, so it does not ring. Edit the rule to mend them."]


def throttle(rule: Rule) -> str:
    """ "At most 3 times in 1 hour"; "" without a throttle."""
    if rule.throttle_count is None:
        return ""
    times = "once" if rule.throttle_count == 1 else f"{rule.throttle_count} times"
    return f"At most {times} in {_duration(rule.throttle_seconds)}"


def digest(rule: Rule) -> str:
    """ "Gathered for 1 hour, or until there are 10, apart for each data.customer"; "" without a digest."""
    if not rule.digests:
        return ""
    length = f"for {_duration(rule.digest_seconds)}" if rule.digest_at is None else f"until {rule.digest_at:%H:%M}"
    until = f", or until there are {rule.digest_count}" if rule.digest_count is not None else ""
    apart = f", apart for each {rule.digest_key}" if rule.digest_key else ""
    return f"Gathered {length}{until}{apart}"


def series(rule: Rule) -> str:
    """ "3 steps follow, until order.paid with the same data.order_id"; "" without steps."""
    count = len(rule.series.split("\n")) if rule.series else 0
    if not count:
        return ""
    same = f" with the same {rule.series_key}" if rule.series_key else ""
    until = f", until {rule.series_ends_on}{same}" if rule.series_ends_on else ""
    return f"{'1 step follows' if count == 1 else f'{count} steps follow'}{until}"


def _duration(seconds: int | None) -> str:
    return FORMATS["duration"](seconds)


def limit_reached() -> str:
    most = settings.MOST_RULES
    return f"You have {most} rules, as many as one person may have here. Delete one that you no longer need."
