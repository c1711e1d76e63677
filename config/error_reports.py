"""Reports of errors to Sentry, or to what takes its format (GlitchTip, Bugsink), where SENTRY_DSN is set.

Codes only: the types of exceptions, places in the code, and texts of logs without their values. No message of an
exception, variable, request, person or host name leaves the process.
"""

import logging
from typing import Any

import sentry_sdk
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.utils import BadDsn

from config import logs
from config.environment.env import Misconfigured

_RETAINED = ("event_id", "timestamp", "level", "logger", "platform", "release", "sdk")
_OF_FRAME = ("filename", "function", "module", "lineno", "in_app")


def start(dsn: str, version: str) -> None:
    """Report logged errors from a background thread. Raises Misconfigured for an invalid address."""
    try:
        sentry_sdk.init(
            dsn,
            release=f"carillon@{version}",
            default_integrations=False,
            integrations=[LoggingIntegration(level=None, event_level=logging.ERROR, sentry_logs_level=None)],
            before_send=only_codes,
            send_client_reports=False,
            include_local_variables=False,
            include_source_context=False,
            send_default_pii=False,
        )
    except BadDsn:
        example = "https://key@sentry.example.org/1"
        raise Misconfigured("SENTRY_DSN", "must be the address that Sentry shows for a project", example) from None


def only_codes(event: Any, _hint: object) -> Any:
    """Return an event with what cannot hold the data of people, and nothing else."""
    report = {name: event[name] for name in _RETAINED if name in event}
    if text := event.get("logentry", {}).get("message"):
        report["logentry"] = {"message": logs.redact(text)}
    report["exception"] = {"values": [_type_and_places(one) for one in event.get("exception", {}).get("values", ())]}
    return report


def _type_and_places(raised: Any) -> dict[str, Any]:
    frames = (raised.get("stacktrace") or {}).get("frames", ())
    places = [{name: frame[name] for name in _OF_FRAME if name in frame} for frame in frames]
    return {"type": raised.get("type"), "module": raised.get("module"), "stacktrace": {"frames": places}}
