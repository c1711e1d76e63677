"""The queue for one person's many bells: workers take from it and from the deliveries' own in turn, so that nobody
waits behind another's thousands.
"""

from __future__ import annotations

import time
from collections import Counter

QUEUE = "bulk"
# So many bells of one person in so many seconds are few; beat rings for thousands in batches, one right after another.
FEW = 20
WITHIN = 2.0


class _Lately:
    """What this process has rung for, by person, since an instant on the monotonic clock."""

    since = 0.0
    rung: Counter[int | None] = Counter()


def queue_for(person_id: int | None) -> str | None:
    """The queue for one more bell of this person: None is the deliveries' own. Those of nobody known count together."""
    if time.monotonic() - _Lately.since > WITHIN:
        _Lately.since, _Lately.rung = time.monotonic(), Counter()
    _Lately.rung[person_id] += 1
    return QUEUE if _Lately.rung[person_id] > FEW else None
