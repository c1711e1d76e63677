"""Slack, as https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks documents it.

`WEBHOOK` works. In place of its id, `failing("channel_is_archived")` and the like give a webhook that answers with it.
"""

from __future__ import annotations

import json

from demo.receivers.http import Received, Reply

TOKEN = "plantedplantedplantedplanted"
WEBHOOK = f"T00000001/B00000001/{TOKEN}"
FIELDS = {"text", "blocks", "attachments", "mrkdwn", "link_names", "unfurl_links", "unfurl_media", "thread_ts"}

# https://docs.slack.dev/changelog/2016/05/17/changes-to-errors-for-incoming-webhooks
STATUSES = {
    "invalid_payload": 400,
    "user_not_found": 400,
    "invalid_token": 403,
    "action_prohibited": 403,
    "posting_to_general_channel_denied": 403,
    "channel_not_found": 404,
    "no_service": 404,
    "no_active_hooks": 404,
    "no_team": 404,
    "channel_is_archived": 410,
    "rate_limited": 429,
    "rollup_error": 500,
}


def failing(error: str) -> str:
    return f"T00000001/B0000{list(STATUSES).index(error):04d}9/{TOKEN}"


def answer(request: Received) -> Reply:
    webhook = request.path.removeprefix("/services/")
    for error, status in STATUSES.items():
        if webhook == failing(error):
            return _reply(status, error, {"Retry-After": "30"} if status == 429 else {})
    if request.method != "POST" or webhook != WEBHOOK:
        return _reply(404, "no_service")
    try:
        document = json.loads(request.body)
    except ValueError:
        return _reply(400, "invalid_payload")
    assert set(document) <= FIELDS, document
    if not document.get("text", "").strip():
        return _reply(400, "no_text")
    return _reply(200, "ok")


def _reply(status: int, text: str, headers: dict[str, str] | None = None) -> Reply:
    return Reply(status, {"Content-Type": "text/html", **(headers or {})}, text.encode())
