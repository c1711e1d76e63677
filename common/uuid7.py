"""Time-ordered UUIDs, made before the insert, so that a batch is written without reading it back.

Those of what a slot or an event causes are derived from it: after a restore the same slot makes the same ids, so that
receivers who have seen them drop the repeats.
"""

import hashlib
import os
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

# A new one in SQL: in the order of their being written, also two of one transaction.
SQL = (
    "(overlay(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 4096000)::bigint), 15, '0')"
    " PLACING '7' FROM 13 FOR 0) || substring(gen_random_uuid()::text FROM 20))::uuid"
)
OLDEST_FORM = timedelta(days=1)
FURTHEST_AHEAD = timedelta(minutes=5)  # clocks of several web servers differ


def uuid7() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, 12 bits of their fraction (6.2, method 3), 62 random bits.

    The ids of one process are in the order in which they were made.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    fraction = (nanoseconds << 12) // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") >> 2
    return UUID(int=(milliseconds & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | random)


def of_slot(slot: datetime, schedule_id: UUID) -> UUID:
    """The UUIDv7 of a slot (aware) of a schedule, always the same."""
    hashed = int(hashlib.sha256(f"{schedule_id}/{slot.astimezone(UTC).isoformat()}".encode()).hexdigest()[:19], 16)
    return UUID(int=first_of(slot).int | 0x7 << 76 | (hashed >> 62 & 0xFFF) << 64 | 0x2 << 62 | hashed & (1 << 62) - 1)


def child(parent: UUID, key: object) -> UUID:
    """The id that follows from a UUIDv7 and `key`, with its parent's time. A new one if the parent is not a UUIDv7."""
    if parent.version != 7:
        return uuid7()
    return UUID(f"{parent.hex[:16]}8{hashlib.sha256(f'{parent}/{key}'.encode()).hexdigest()[:15]}")


def child_sql(parent: str, key: str) -> str:
    """`child`, of two SQL expressions."""
    hashed = f"encode(sha256(convert_to({parent}::text || '/' || {key}::text, 'UTF8')), 'hex')"
    made = f"(left(replace({parent}::text, '-', ''), 16) || '8' || left({hashed}, 15))::uuid"
    return f"CASE WHEN substring({parent}::text FROM 15 FOR 1) = '7' THEN {made} ELSE {SQL} END"


def first_of(instant: datetime) -> UUID:
    """The lowest UUIDv7 of `instant`, or of 1970 if that is later: it finds rows by time with their index."""
    return UUID(int=max(0, int(instant.timestamp() * 1000)) << 80)


def is_recent(key: UUID, now: datetime) -> bool:
    """Whether `key`, sent by a form, is a UUIDv7 of the last day. Lists sort by ids: a form must not choose a time."""
    if key.version != 7:
        return False
    age = now.timestamp() - (key.int >> 80) / 1000
    return -FURTHEST_AHEAD.total_seconds() <= age <= OLDEST_FORM.total_seconds()
