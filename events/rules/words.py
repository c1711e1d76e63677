"""The sentences of rules: what a rule listens to, how often it fires, and the limit of a person."""

from django.conf import settings
from django.utils.translation import gettext as _, ngettext

from events.models import Rule
from events.pure import matching
from events.pure.matching import Condition
from events.reasons import OPERATORS
from work.reasons import FORMATS


def listens_to(rule: Rule) -> str:
    pattern = _("any event") if rule.type_pattern == "*" else rule.type_pattern
    return _("%(type)s from %(source)s") % {"type": pattern, "source": rule.source} if rule.source else pattern


def condition(one: Condition) -> str:
    """ "data.amount is above 100"."""
    words = f"{one.field} {OPERATORS[one.operator]}"
    if one.operator == "exists":
        return words
    value = matching.shown(one.value) or _("(empty)")
    return f"{words} {value}"


def conditions(rule: Rule) -> list[str]:
    try:
        return [condition(one) for one in matching.read_conditions(rule.conditions)]
    except ValueError:
        return [_("Its conditions are damaged, so it does not ring. Edit the rule to repair them.")]


def throttle(rule: Rule) -> str:
    """ "At most 3 times in 1 hour"; "" without a throttle."""
    if rule.throttle_count is None:
        return ""
    text = ngettext("At most once in %(length)s", "At most %(count)s times in %(length)s", rule.throttle_count)
    return text % {"count": rule.throttle_count, "length": FORMATS["duration"](rule.throttle_seconds)}


def digest(rule: Rule) -> str:
    """ "Gathered for 1 hour, or until there are 10, apart for each data.customer"; "" without a digest."""
    if not rule.digests:
        return ""
    if rule.digest_at is None:
        text = _("Gathered for %(length)s") % {"length": FORMATS["duration"](rule.digest_seconds)}
    else:
        text = _("Gathered until %(time)s") % {"time": f"{rule.digest_at:%H:%M}"}
    if rule.digest_count is not None:
        text = _("%(gathered)s, or until there are %(count)s") % {"gathered": text, "count": rule.digest_count}
    if rule.digest_key:
        text = _("%(gathered)s, apart for each %(field)s") % {"gathered": text, "field": rule.digest_key}
    return text


def series(rule: Rule) -> str:
    """ "3 steps follow, until order.paid with the same data.order_id"; "" without steps."""
    count = len(rule.series.split("\n")) if rule.series else 0
    if not count:
        return ""
    text = ngettext("%(count)s step follows", "%(count)s steps follow", count) % {"count": count}
    if rule.series_ends_on and rule.series_key:
        until = _("%(steps)s, until %(event)s with the same %(field)s")
    elif rule.series_ends_on:
        until = _("%(steps)s, until %(event)s")
    else:
        return text
    return until % {"steps": text, "event": rule.series_ends_on, "field": rule.series_key}


def limit_reached() -> str:
    text = _("You have %(most)s rules, as many as one person may have here. Delete one that you no longer need.")
    return text % {"most": settings.MOST_RULES}
