"""Correlation ids: any text of up to 128 characters, the same through a chain of causes.

Tables find a chain by a UUID in `correlation_id`: the id itself where it is one, else a UUID made from its text, which
is in `correlation` beside it.
"""

import re
from typing import Any
from uuid import UUID, uuid5

LONGEST = 128
TEXT = r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}"
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CHAINS = UUID("0b9e0b5c-5d0e-5a4b-9d0a-6f1f6c1b7a52")


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(str(text)) is not None


def key_of(text: str) -> UUID:
    """The UUID by which tables find the chain."""
    text = str(text)  # also of a caller that has the UUID itself
    return UUID(text) if is_uuid(text) else uuid5(_CHAINS, text)


def key(text: str | None) -> UUID | None:
    return None if text is None else key_of(text)


def text(text: str | None) -> str:
    """The text to store beside `key`; empty if the key says it all."""
    return "" if text is None or is_uuid(text) else text


def sql(row: str, otherwise: str = "NULL") -> str:
    """The SQL of the correlation id of a row; `otherwise`: the UUID of one that has none."""
    return f"coalesce(nullif({row}.correlation, ''), coalesce({row}.correlation_id, {otherwise})::text)"


# Columns of `Rows` whose rows have a `correlation_id` of text.
COLUMNS: dict[str, Any] = {
    "correlation_id": (UUID, lambda row: key(row.correlation_id)),
    "correlation": (str, lambda row: text(row.correlation_id)),
}
