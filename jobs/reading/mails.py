"""The texts of a mail (RFC 5322, MIME) in letters. It runs in a child process, which bounds its time and memory."""

from email import message_from_bytes
from email.message import Message

from jobs.reading import plain
from jobs.reading.charset import decode

_MOST = 20  # texts


def texts(raw: bytes) -> str:
    """Return the decoded text parts of a mail, without its attachments."""
    shown = (part for part in message_from_bytes(raw).walk() if part.get_content_disposition() != "attachment")
    parts = [part for part in shown if part.get_content_maintype() == "text"]
    return "\n\n".join(filter(None, map(_text, parts[:_MOST])))


def _text(part: Message) -> str:
    content = part.get_payload(decode=True)
    text = decode(content, str(part.get("Content-Type", ""))) if isinstance(content, bytes) else ""
    if part.get_content_subtype() == "html" and (root := plain.tree(" ".join(text.split()))) is not None:
        text = plain.of_element(root)
    return text.strip()
