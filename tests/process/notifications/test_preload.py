"""A worker, in a new process, loads everything before its first message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack

from django.conf import settings

from demo.receivers import HTTPReceiver, SMTPReceiver, gotify
from tests.network import closed_port

_WORKER = """
import json, signal, sys, django
signal.alarm(300)  # ends it if it hangs
django.setup()
from celery import signals
from notifications import providers
from notifications.net.deadline import tls_context
from notifications.messages.message import Destination, Message
from uuid import UUID
signals.worker_init.send(sender=None)
before = set(sys.modules)
assert tls_context.cache_info().currsize == 1, "the certificates were not read"
message = Message(UUID(int=0), "Ferns", "All of them.", "Ada")
for line in sys.stdin:
    answers = [
        type(providers.get(kind).send(message, Destination(address, secrets))).__name__
        for kind, address, secrets in json.loads(line)
    ]
    print(json.dumps([answers, sorted(set(sys.modules) - before)]), flush=True)
"""


def test_the_first_message_loads_nothing_whether_or_not_it_arrives() -> None:
    def sent(worker: subprocess.Popen[str], hook: int, push: int) -> set[str]:
        """How the first message of each provider ends."""
        channels = [
            ("webhook", {"url": f"http://127.0.0.1:{hook}/"}, {"secret": "whsec_" + "c2VjcmV0" * 4}),
            ("email", {"address": "ada@example.org"}, {}),
            ("apprise", {}, {"url": f"gotify://127.0.0.1:{push}/{gotify.TOKEN}"}),
        ]
        assert worker.stdin and worker.stdout
        print(json.dumps(channels), file=worker.stdin, flush=True)
        answers, loaded = json.loads(worker.stdout.readline())
        assert [name for name in loaded if not name.startswith("encodings.")] == []
        return set(answers)

    with ExitStack() as servers:
        pushes = servers.enter_context(HTTPReceiver(gotify.answer))
        hook, mail = servers.enter_context(HTTPReceiver()), servers.enter_context(SMTPReceiver())
        with subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            cwd=settings.BASE_DIR,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "DATABASE_URL": "postgresql:///nothing-is-asked-of-it",
                "REDIS_URL": "redis://127.0.0.1:1/0",
                "SECRET_KEY": "a key of at least thirty-two letters",
                "ENCRYPTION_KEYS": settings.ENCRYPTION_KEYS[0],
                "ALLOWED_NETWORKS": "127.0.0.0/8",
                "EMAIL_URL": f"smtp://127.0.0.1:{mail.port}",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as worker:
            assert sent(worker, hook.port, pushes.port) == {"Delivered"}
            servers.close()
            assert sent(worker, closed_port(), closed_port()) == {"Retryable"}
    assert worker.returncode == 0
