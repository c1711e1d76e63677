"""Log settings, and a formatter that removes secrets.

Carillon logs no secrets. Lines of libraries and tracebacks may quote an address or a header.
"""

import json
import logging
import re
import time
from typing import Any

from common.texts.log_line import LogLine

_HIDDEN = "•••"
# C0 without tabs, C1, the ends of lines of Unicode, and what turns the direction of a text.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# One of the words is in the lower-case text wherever the pattern matches. Most lines have none of them, and workers
# write a line for each try (`script/bench deliver`): to look for words takes 3 µs of it, for all patterns 18.
_PATTERNS = [
    # user and password in an address
    (("@",), re.compile(r"(?<=://)[^\s/@'\"]+@"), f"{_HIDDEN}@"),
    # the values of a query: any of them may be a token
    (("=",), re.compile(r"([?&][\w.\-\[\]]+=)[^\s&'\"#]+"), rf"\1{_HIDDEN}"),
    (
        ("authorization", "bearer", "basic"),
        re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?(?:[a-z]+\s+)?|\b(?:bearer|basic)\s+)[\w+/=.~-]{8,}"),
        rf"\1{_HIDDEN}",
    ),
    (("whsec_",), re.compile(r"whsec_[\w+/=]+"), f"whsec_{_HIDDEN}"),
    (("ghp_", "github_pat_"), re.compile(r"\b(ghp_|github_pat_)\w{20,}"), rf"\1{_HIDDEN}"),
    (("bot",), re.compile(r"(?<=bot)\d+:[\w-]{20,}"), _HIDDEN),
    ((":",), re.compile(r":(?<=\d{5}:)[\w-]{30,}"), f":{_HIDDEN}"),  # begins with a constant, so it is quick
    (("/api/webhooks/",), re.compile(r"(?i)(/api/webhooks/\d+/)[\w-]+"), rf"\1{_HIDDEN}"),
    (("/services/",), re.compile(r"(?i)(/services/)[\w/]{9,}"), rf"\1{_HIDDEN}"),
    # what PostgreSQL quotes of a failed statement and of its row, up to the next part or the end of the error, each
    # part on a line of its own: the same words within a line are somebody's text, and hide nothing
    (
        ("detail:", "context:", "query:", "statement:", "line "),
        re.compile(
            r"(?s)(?<=\n)((?:DETAIL|CONTEXT|QUERY|STATEMENT|LINE \d+):\s).*?"
            r"(?=\n(?:DETAIL|HINT|CONTEXT|QUERY|STATEMENT|LINE \d+):"
            r"|\n\n?(?:The above exception|During handling|Traceback )|\Z)"
        ),
        rf"\1{_HIDDEN}",
    ),
    # our own links that need no sign-in, or hold the token of one that does not
    (
        ("/",),
        re.compile(
            r"(/account/(?:password/reset/key|confirm-email)/|/address/(?:refuse|undo)/|/answer/|/unsubscribe/"
            r"|/in/(?:boards/)?|/calendar/|/ping/|/badge/|/status/|/subscription/|/stop/|/leave/|/teams/join/|/api/v3/checks/)"
            r"[\w:=%.~-]+"
        ),
        rf"\1{_HIDDEN}",
    ),
]


def redact(text: str) -> str:
    lower = text.lower()
    for words, pattern, replacement in _PATTERNS:
        if any(map(lower.__contains__, words)):
            text = pattern.sub(replacement, text)
    return text


class RedactingFormatter(logging.Formatter):
    """Redacts the formatted record, including its traceback.

    Django's lines about requests get the request's id and person. A request that was refused has no traceback.
    Times are UTC. Control characters of a message are escaped, so that nobody writes a line of their own.
    """

    converter: Any = time.gmtime
    default_time_format, default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"

    def formatMessage(self, record: logging.LogRecord) -> str:
        # Redacted first: some patterns need the ends of lines.
        return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], redact(super().formatMessage(record)))

    def format(self, record: logging.LogRecord) -> str:
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return redact(super().format(record) + _origin(getattr(record, "request", None)))


def _origin(request: Any) -> str:
    """Return the person of the request; without a query to the database, which may be what failed."""
    if not (scope := getattr(request, "scope", None)):
        return ""
    person = getattr(getattr(request, "auth", None), "user_id", None) or getattr(
        getattr(request, "_cached_user", None), "pk", None
    )
    return f" [request {scope.get('request_id', '-')}, person {person or '-'}]"


class JSONFormatter(RedactingFormatter):
    """One JSON object a line: `time`, `level`, `logger`, and `message` with its traceback. A `LogLine` has more."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {"time": self.formatTime(record), "level": record.levelname, "logger": record.name}
        if isinstance(record.msg, LogLine):
            given = {name: redact(one) if isinstance(one, str) else one for name, one in record.msg.items()}
            written = json.dumps(fields | {"message": record.msg.message} | given, ensure_ascii=False)
            return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
        return json.dumps(fields | {"message": super().format(record)}, ensure_ascii=False)


def settings(level: str, as_json: bool) -> dict[str, Any]:
    """Django's LOGGING: one format on standard error for all processes."""
    text = {"()": RedactingFormatter, "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    line = {"()": JSONFormatter} if as_json else text
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": line},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        # uvicorn adds its own handlers, which would not redact, and its own level.
        "loggers": {
            name: {"handlers": [], "propagate": True, "level": level}
            for name in ("uvicorn", "uvicorn.access", "uvicorn.error")
        }
        # Celery logs two lines a task at INFO. Attempts and task results record the same.
        | {name: {"level": "WARNING"} for name in ("celery.worker.strategy", "celery.app.trace")},
        "root": {"handlers": ["stderr"], "level": level},
    }
