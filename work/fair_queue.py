"""A second queue for people with many deliveries. Workers take from both in turn, so nobody waits behind thousands."""

import time
from collections import Counter

QUEUE = "bulk"
# Up to FEW messages of one person within so many seconds go to the usual queue; beat publishes thousands in batches.
FEW = 20
WITHIN = 2.0


class _Lately:
    """How many messages this process has published, by person, since an instant on the monotonic clock."""

    since = 0.0
    published: Counter[int | None] = Counter()


def queue_for(person_id: int | None) -> str | None:
    """The queue for one more message of this person; None is the usual one. Unknown persons count as one."""
    if time.monotonic() - _Lately.since > WITHIN:
        _Lately.since, _Lately.published = time.monotonic(), Counter()
    _Lately.published[person_id] += 1
    return QUEUE if _Lately.published[person_id] > FEW else None
