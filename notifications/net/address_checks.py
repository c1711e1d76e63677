"""Limits of the addresses that forms visit: each waits for a stranger's machine, and calls it unasked.

An address that is not visited is taken as it stands, like one that does not answer: every send is guarded anyway.
"""

from contextvars import ContextVar

from django import forms
from django.core.cache import cache

from common.context import holding
from common.redis import rate_limiter

AT_ONCE = 2
"""Forms of one person that visit addresses at the same time, at most."""
A_MINUTE = 20
"""Visits of all people's forms to one host a minute, at most."""
# Seconds after which a visit that never ended counts no more: its process was killed.
_LONGEST = 30

_permitted = ContextVar("permitted", default=True)


def are_valid(user_id: int, *filled_in: forms.Form, visits: bool = True) -> bool:
    """Whether all of these forms are valid. Their addresses are visited unless two are already for this person.

    Give `visits=False` inside a transaction: a visit keeps its connection and locks as long as a stranger likes.
    """
    numbers = range(AT_ONCE if visits else 0)
    slot = next((key for number in numbers if cache.add(key := f"address-check:{user_id}:{number}", 1, _LONGEST)), None)
    try:
        with holding(_permitted, slot is not None):
            return not [form for form in filled_in if not form.is_valid()]  # each of them tells its problems
    finally:
        if slot:
            cache.delete(slot)


def may_visit(host: str) -> bool:
    """Whether a form may visit this host now; if so, it is counted. While Redis is away nothing is counted."""
    return _permitted.get() and rate_limiter.allows(f"visit:{host}", A_MINUTE, 60.0)
