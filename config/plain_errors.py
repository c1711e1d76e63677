"""What a person set up wrong ends a process with one line and a non-zero exit, and without a trace."""

from __future__ import annotations

import sys
from types import TracebackType

from django.core.exceptions import ImproperlyConfigured
from django.db.utils import OperationalError


def speak_plainly() -> None:
    """From now on an uncaught error that says that something is set up wrong ends the process with its one line."""
    sys.excepthook = _say_what_is_wrong


def _say_what_is_wrong(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    why = str(error).strip().splitlines()[:1]
    if isinstance(error, ImproperlyConfigured):
        sys.stderr.write(f"Carillon cannot start: {error}\n")
    elif isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", "") is None:
        # No state means that there was no session: the server was never reached, or turned us away.
        sys.stderr.write(f"Carillon cannot start: PostgreSQL does not let us in ({why[0]}). Look at DATABASE_URL.\n")
    else:
        sys.__excepthook__(kind, error, trace)
