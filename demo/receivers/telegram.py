"""Telegram's Bot API, as far as https://core.telegram.org/bots/api documents sendMessage.

Tokens that it knows: `TOKEN`. Chats: 1 (a person), -100123 (a group), @newsroom (a channel), 404 (unknown), -4 (a group
that became -1004), 429 (too many requests), 500 (an error of its own). Nobody to write to: 403 (who blocked the bot),
4030 (a person whom it may not write to first), 4031 (a deleted account), -4032 (a group that it was removed from),
-4033 and -4034 (a channel and a group in which it may not post). The group -100123 has the topics 42, and 43 that is
closed; the general one has no number. The others have no topics.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from demo.receivers.http import Received, Reply, in_json

TOKEN = "123456:planted-planted-planted-planted-x"
FIELDS = {
    "chat_id",
    "message_thread_id",
    "text",
    "link_preview_options",
    "parse_mode",
    "entities",
    "disable_notification",
    "reply_markup",
}
_REFUSED: dict[str, tuple[int, str, dict[str, int]]] = {
    "403": (403, "Forbidden: bot was blocked by the user", {}),
    "4030": (403, "Forbidden: bot can't initiate conversation with a user", {}),
    "4031": (403, "Forbidden: user is deactivated", {}),
    "-4032": (403, "Forbidden: bot was kicked from the supergroup chat", {}),
    "-4033": (403, "Forbidden: not enough rights to send text messages to the chat", {}),
    "-4034": (400, "Bad Request: not enough rights to send text messages to the chat", {}),
    "404": (400, "Bad Request: chat not found", {}),
    "-4": (400, "Bad Request: group chat was upgraded to a supergroup chat", {"migrate_to_chat_id": -1004}),
    "429": (429, "Too Many Requests: retry after 7", {"retry_after": 7}),
    "500": (500, "Internal Server Error", {}),
}


def answer(request: Received) -> Reply:
    token, _, method = request.path.removeprefix("/bot").partition("/")
    if token != TOKEN:
        return _error(401, "Unauthorized")
    if method != "sendMessage" or request.method != "POST":
        return _error(404, "Not Found")
    if request.headers.get("Content-Type") != "application/json":
        return _error(400, "Bad Request: message text is empty")
    document = json.loads(request.body)
    assert set(document) <= FIELDS, document
    text, chat = document["text"], str(document["chat_id"])
    if not text.strip():
        return _error(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le")) // 2 > 4096:
        return _error(400, "Bad Request: message is too long")
    for row in document.get("reply_markup", {}).get("inline_keyboard", []):
        for button in row:
            if "." not in (urlsplit(button["url"]).hostname or ""):
                why = f"inline keyboard button URL '{button['url']}' is invalid: Wrong HTTP URL"
                return _error(400, f"Bad Request: {why}")
    if chat in _REFUSED:
        return _error(*_REFUSED[chat])
    topic = document.get("message_thread_id")
    if topic == 43 and chat == "-100123":
        return _error(400, "Bad Request: TOPIC_CLOSED")
    if topic is not None and (topic, chat) != (42, "-100123"):
        return _error(400, "Bad Request: message thread not found")
    there: dict[str, Any] = {"id": -100987, "type": "channel", "username": chat[1:]}
    if not chat.startswith("@"):
        there = {"id": int(chat), "type": "private" if int(chat) > 0 else "supergroup"}
    result = {"message_id": 5, "date": 1767225600, "chat": there, "text": text}
    return in_json(200, {"ok": True, "result": result})


def _error(code: int, description: str, parameters: dict[str, int] | None = None) -> Reply:
    document: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
    return in_json(code, document | ({"parameters": parameters} if parameters else {}))
