"""A Gotify server, as https://gotify.net/api-docs documents POST /message."""

from __future__ import annotations

import json

from demo.receivers.http import Received, Reply, in_json

TOKEN = "Aplanted-token1"


def answer(request: Received) -> Reply:
    if request.path != "/message" or request.method != "POST":
        return _error(404, "page not found")
    if request.headers.get("X-Gotify-Key") != TOKEN:
        return _error(401, "you need to provide a valid access token or user credentials to access this api")
    document = json.loads(request.body)
    assert set(document) <= {"title", "message", "priority", "extras"}, document
    if not document.get("message"):
        return _error(400, "Field 'message' is required")
    return in_json(200, {"id": 25, "appid": 5, **document})


def _error(status: int, description: str) -> Reply:
    return in_json(status, {"error": "Error", "errorCode": status, "errorDescription": description})
