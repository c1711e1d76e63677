"""A log line that is fields: an object with LOG_FORMAT=json, else their JSON as text."""

import json
from typing import Any


class LogLine(dict[str, Any]):
    """`message` says in a few words what happened, where fields stand beside it."""

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(fields)
        self.message = message

    def __str__(self) -> str:
        return json.dumps(self)
