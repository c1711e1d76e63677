"""A second queue for people with much work. Workers take from both in turn, so nobody waits behind thousands."""

import time
from collections import Counter

QUEUE = "bulk"
# Messages of one person that cost up to FEW within so many seconds go to the usual queue; beat publishes thousands in
# batches.
FEW = 20
WITHIN = 2.0


class _Lately:
    """The cost of the messages that this process has published, by person, since an instant on the monotonic clock."""

    since = 0.0
    published: Counter[int | None] = Counter()


def queue_for(person_id: int | None, cost: int) -> str | None:
    """The queue for one more message of this person; None is the usual one. Unknown persons count as one."""
    if time.monotonic() - _Lately.since > WITHIN:
        _Lately.since, _Lately.published = time.monotonic(), Counter()
    _Lately.published[person_id] += cost
    return QUEUE if _Lately.published[person_id] > FEW else None
