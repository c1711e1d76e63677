"""Slack, as https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks documents it.

`WEBHOOK` works. In place of its id, `failing("channel_is_archived")` and the like give a webhook that answers with it.
`WORKFLOW` starts a workflow that has the variable text, `OTHER_WORKFLOW` one that has another
(https://docs.slack.dev/tools/slack-github-action/sending-techniques/sending-data-webhook-slack-workflow). `MATTERMOST`
is a webhook as https://developers.mattermost.com/integrate/webhooks/incoming documents it, on any host.
"""

from __future__ import annotations

import json

from demo.receivers.http import Received, Reply, in_json

TOKEN = "plantedplantedplantedplanted"
WEBHOOK = f"T00000001/B00000001/{TOKEN}"
WORKFLOW, OTHER_WORKFLOW = (
    f"triggers/T00000001/{number}/{'abcdef0123456789' * 2}" for number in (1234567890, 99999999)
)
MATTERMOST = "/hooks/plantedplantedplanted00000"
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


# https://github.com/mattermost/mattermost/blob/master/server/channels/app/webhook.go
OF_MATTERMOST = {
    "web.incoming_webhook.invalid.app_error": 400,
    "web.incoming_webhook.channel.app_error": 404,
    "web.incoming_webhook.permissions.app_error": 403,
    "web.incoming_webhook.channel_locked.app_error": 403,
    "web.incoming_webhook.disabled.app_error": 501,
    "api.post.create_post.can_not_post_to_deleted.error": 400,
}


def mattermost(request: Received) -> Reply:
    if request.method != "POST" or not request.path.endswith(MATTERMOST):
        return in_mattermost("web.incoming_webhook.invalid.app_error")
    document = json.loads(request.body)
    if not document.get("text", "").strip():
        return in_mattermost("web.incoming_webhook.text.app_error")
    return Reply(200, {"Content-Type": "text/plain"}, b"ok")


def in_mattermost(error: str) -> Reply:
    status = OF_MATTERMOST.get(error, 400)
    return in_json(status, {"id": error, "message": "In words.", "request_id": "x", "status_code": status})


def answer(request: Received) -> Reply:
    if request.path in (f"/{WORKFLOW}", f"/{OTHER_WORKFLOW}"):
        variables = json.loads(request.body)
        assert all(isinstance(value, str) for value in variables.values()), variables
        is_right = request.path == f"/{WORKFLOW}" and set(variables) == {"text"}
        return in_json(200, {"ok": True}) if is_right else in_json(400, {"ok": False, "error": "missing_variable"})
    if "/hooks/" in request.path:
        return mattermost(request)
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
