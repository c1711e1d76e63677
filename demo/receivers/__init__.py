"""Real servers on the loopback for tests, demo and benches.

with HTTPReceiver() as receiver:
    receiver.answers.append(Reply(429, {"Retry-After": "2"}))   # the first request; then receiver.answer for ever
    ...
    receiver.requests[0].verified("whsec_…")

with SMTPReceiver() as receiver:
    receiver.replies["RCPT"] = "550 5.1.1 No such mailbox"
    ...
    receiver.mails[0].message["Subject"]
"""

from demo.receivers.http import Drip, Hang, HTTPReceiver, Received, Reply, Reset
from demo.receivers.smtp import DROP, HANG, Mail, SMTPReceiver

__all__ = [
    "DROP",
    "HANG",
    "Drip",
    "HTTPReceiver",
    "Hang",
    "Mail",
    "Received",
    "Reply",
    "Reset",
    "SMTPReceiver",
]
