"""A Matrix homeserver, as https://spec.matrix.org/v1.13/client-server-api/ documents sending a message.

Rooms: `ROOM`; `LIMITED`, whose sender has written too often. The account of `TOKEN` is in both.
"""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

from demo.receivers.http import Received, Reply, in_json

ROOM, LIMITED = "!ferns:example.org", "!limited:example.org"
TOKEN = "syt_planted_AbCdEf123"
_SEND = re.compile(r"/_matrix/client/v3/rooms/([^/]+)/send/m\.room\.message/([^/]+)")


def answer(request: Received) -> Reply:
    found = _SEND.fullmatch(request.path)
    if found is None:
        return _error(404, "M_UNRECOGNIZED", "Unrecognized request")
    if request.method != "PUT":
        return _error(405, "M_UNRECOGNIZED", "Unrecognized request")
    given = request.headers.get("Authorization")
    if given is None:
        return _error(401, "M_MISSING_TOKEN", "Missing access token")
    if given != f"Bearer {TOKEN}":
        return _error(401, "M_UNKNOWN_TOKEN", "Unrecognised access token", soft_logout=False)
    try:
        event = json.loads(request.body)
    except ValueError:
        return _error(400, "M_NOT_JSON", "Content not JSON.")
    assert set(event) <= {"msgtype", "body", "m.mentions"}, event
    if unquote(found[1]) == LIMITED:
        return _error(429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after_ms=2500)
    if unquote(found[1]) != ROOM:
        return _error(403, "M_FORBIDDEN", "User @carillon:example.org not in room")
    if len(request.body) > 65_000:
        return _error(413, "M_TOO_LARGE", "event too large")
    return in_json(200, {"event_id": f"${found[2]}"})


def _error(status: int, code: str, error: str, **more: object) -> Reply:
    return in_json(status, {"errcode": code, "error": error, **more})
