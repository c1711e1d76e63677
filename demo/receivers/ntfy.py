"""An ntfy server, as https://docs.ntfy.sh/publish/#publish-as-json documents it.

It is also served under /ntfy/, by a proxy that takes the path away. Topics: `OPEN`; `PROTECTED`, which takes `TOKEN`
alone; `LIMITED`, whose sender has sent too much today.
"""

from __future__ import annotations

import json

from demo.receivers.http import Received, Reply, in_json

OPEN, PROTECTED, LIMITED = "ada-planted-open", "ada-planted-protected", "ada-planted-limited"
TOKEN = "tk_planted00planted00planted"
FIELDS = {"topic", "message", "title", "tags", "priority", "click", "markdown", "sequence_id", "actions"}


def answer(request: Received) -> Reply:
    if request.path not in ("/", "/ntfy/") or request.method not in ("POST", "PUT"):
        return _error(404, 40401, "page not found")
    try:
        document = json.loads(request.body)
    except ValueError:
        return _error(400, 40017, "invalid request: request body must be message JSON")
    assert set(document) <= FIELDS, document
    given = request.headers.get("Authorization")
    if given not in (None, f"Bearer {TOKEN}"):
        return _error(401, 40101, "unauthorized")
    if document["topic"] == PROTECTED and not given:
        return _error(403, 40301, "forbidden")
    if document["topic"] == LIMITED:
        return _error(429, 42908, "limit reached: daily message quota reached")
    if not 1 <= document.get("priority", 3) <= 5:
        return _error(400, 40007, "invalid priority parameter")
    if len(document.get("title", "").encode()) > 1024:
        return _error(400, 40057, "invalid request: title too large")
    if len(document.get("actions", [])) > 3:
        return _error(400, 40018, "invalid request: actions invalid; only 3 actions allowed")
    message = {"id": "hwQ2YpKdmg", "time": 1767225600, "event": "message", **document}
    if len(document.get("message", "").encode()) > 4096:
        message["attachment"] = {"name": "attachment.txt"}
    return in_json(200, message)


def _error(status: int, code: int, error: str) -> Reply:
    body = {"code": code, "http": status, "error": error, "link": "https://ntfy.sh/docs/publish/"}
    return in_json(status, body)
