"""Which addresses forms look at: each look waits for a stranger's machine, and calls it without being asked.

An address that is not looked at is taken as it stands, like one that does not answer: every send is guarded anyway.
"""

from contextvars import ContextVar

from django import forms
from django.core.cache import cache

from common.redis import rate_limiter
from common.redis.rate_limiter import Window

AT_ONCE = 2
"""How many forms of one person look at addresses at the same time."""
A_MINUTE = 20
"""How often the forms of all people together look at one host."""
# Seconds after which a look counts no more that never ended: its process was killed.
_LONGEST = 30

_permitted = ContextVar("permitted", default=True)


def are_valid(user_id: int, *filled_in: forms.Form, look: bool = True) -> bool:
    """Whether all of these forms are valid. Their addresses are looked at unless two are already for this person.

    Give `look=False` inside a transaction: it would keep its connection and its locks for as long as a stranger likes.
    """
    numbers = range(AT_ONCE if look else 0)
    held = next((key for number in numbers if cache.add(key := f"address-check:{user_id}:{number}", 1, _LONGEST)), None)
    before = _permitted.set(held is not None)
    try:
        verdicts = [form.is_valid() for form in filled_in]  # each of them tells its problems
        return all(verdicts)
    finally:
        _permitted.reset(before)
        if held:
            cache.delete(held)


def may_look(host: str) -> bool:
    """Whether a form may look at this host now; if so, it is counted. While Redis is away nothing is counted."""
    return _permitted.get() and rate_limiter.allows(Window(f"look:{host}", A_MINUTE, 60.0))
