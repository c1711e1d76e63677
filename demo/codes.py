"""Read the code that confirms a channel."""

from __future__ import annotations

import re

from demo.receivers import HTTPReceiver, SMTPReceiver

# Not two groups of an id, which a post contains.
_CODE = re.compile(r"(?<![\w-])\d{4}-\d{4}(?![\w-])")
_SUBJECT = "Your code for Carillon"


def in_mails(post: SMTPReceiver, address: str) -> str | None:
    """The code in the newest mail to `address`, or None."""
    bodies = [
        body.get_content()
        for mail in post.mails
        if mail.message["Subject"] == _SUBJECT and mail.recipients == [address]
        if (body := mail.message.get_body(("plain",)))
    ]
    return _in(bodies)


def in_posts(receiver: HTTPReceiver) -> str | None:
    """The code in the newest post that holds one, or None."""
    posts = [request.body.decode() for request in receiver.requests if _SUBJECT.encode() in request.body]
    # JSON writes line breaks as \\n, and Discord's markup wants a backslash before a hyphen.
    return _in([post.replace("\\n", " ").replace("\\", "") for post in posts])


def _in(texts: list[str]) -> str | None:
    found = [code[0] for text in texts if (code := _CODE.search(text))]
    return found[-1] if found else None
