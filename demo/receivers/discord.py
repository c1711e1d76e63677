"""Discord's Execute Webhook, as https://docs.discord.com/developers/resources/webhook documents it.

Webhooks that it knows: `WEBHOOK`; `LIMITED`, which allows no more for now, and `LIMITED_ALL`, whose sender has asked
too much of Discord as a whole; `FORUM` and `TAGGED`, of forums, where the second one wants a tag on each post. One with
another id was deleted; one with another token is refused. All have the threads `THREAD`, and `LOCKED`, which is closed.
"""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

from demo.receivers.http import Received, Reply, in_json

WEBHOOK = "100000000000000001/planted-planted-planted-planted-planted-planted-planted"
LIMITED = "100000000000000429/planted-planted-planted-planted-planted-planted-planted"
LIMITED_ALL = "100000000000000430/planted-planted-planted-planted-planted-planted-planted"
FORUM = "100000000000000220/planted-planted-planted-planted-planted-planted-planted"
TAGGED = "100000000000000221/planted-planted-planted-planted-planted-planted-planted"
KNOWN = (WEBHOOK, LIMITED, LIMITED_ALL, FORUM, TAGGED)
THREAD, LOCKED = "200000000000000001", "200000000000000002"
FIELDS = {"content", "username", "avatar_url", "tts", "embeds", "allowed_mentions", "components", "flags"}
FIELDS.add("thread_name")


def answer(request: Received) -> Reply:
    parts = urlsplit(request.path)
    webhook = parts.path.removeprefix("/api/webhooks/")
    if request.method != "POST" or webhook == parts.path:
        return in_json(404, {"message": "404: Not Found", "code": 0})
    if not re.fullmatch(r"DiscordBot \(\S+, \S+\).*", request.headers.get("User-Agent", "")):
        return Reply(403, {"Content-Type": "text/html"}, b"error code: 1010")
    if webhook.partition("/")[0] not in [known.partition("/")[0] for known in KNOWN]:
        return in_json(404, {"message": "Unknown Webhook", "code": 10015})
    if webhook not in KNOWN:
        return in_json(401, {"message": "Invalid Webhook Token", "code": 50027})
    if webhook == LIMITED:
        body = {"message": "You are being rate limited.", "retry_after": 1.337, "global": False}
        limit = {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "1.337"}
        return in_json(429, body, {"Retry-After": "2", "X-RateLimit-Scope": "shared", **limit})
    if webhook == LIMITED_ALL:
        body = {"message": "You are being rate limited.", "retry_after": 64.57, "global": True}
        return in_json(429, body, {"Retry-After": "65", "X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"})
    document = json.loads(request.body)
    assert set(document) <= FIELDS, document
    embeds = document.get("embeds", [])
    thread, name = parse_qs(parts.query).get("thread_id", [""])[0], document.get("thread_name", "")
    if thread == LOCKED:
        return in_json(400, {"message": "Thread is locked", "code": 160005})
    if thread not in ("", THREAD):
        return in_json(404, {"message": "Unknown Channel", "code": 10003})
    if webhook in (FORUM, TAGGED) and not thread:
        if not name:
            why = "Webhooks posted to forum channels must have a thread_name or thread_id"
            return in_json(400, {"message": why, "code": 220001})
        if len(name) > 100:
            return in_json(400, {"message": "Invalid Form Body", "code": 50035, "errors": {}})
        if webhook == TAGGED:
            return in_json(400, {"message": "A tag is required to create a forum post in this channel", "code": 40067})
    elif name:
        return in_json(400, {"message": "Webhooks can only create threads in forum channels", "code": 220003})
    if not document.get("content") and not any(embeds):
        return in_json(400, {"message": "Cannot send an empty message", "code": 50006})
    for embed in embeds:
        if len(embed.get("title", "")) > 256 or len(embed.get("description", "")) > 4096:
            return in_json(400, {"message": "Invalid Form Body", "code": 50035, "errors": {}})
    if parse_qs(parts.query).get("wait") == ["true"]:
        return in_json(200, {"id": "1", "type": 0, "content": "", "embeds": embeds, "webhook_id": webhook})
    return Reply(204, body=b"")
