"""A worker, in a new process, loads everything before its first message."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from django.conf import settings

from demo.receivers import HTTPReceiver, SMTPReceiver, gotify
from tests.network import closed_port

_WORKER = """
import json, sys, django
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
answers = [
    type(providers.get(kind).send(message, Destination(address, secrets))).__name__
    for kind, address, secrets in json.loads(sys.argv[1])
]
print(json.dumps([answers, sorted(set(sys.modules) - before)]))
"""


@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
def test_the_first_message_loads_nothing(gone: bool) -> None:
    with HTTPReceiver(gotify.answer) as pushes, HTTPReceiver() as hook, SMTPReceiver() as mail:
        ports = {
            name: closed_port() if gone else server.port
            for name, server in zip("phm", (pushes, hook, mail), strict=True)
        }
        channels = [
            ("webhook", {"url": f"http://127.0.0.1:{ports['h']}/"}, {"secret": "whsec_" + "c2VjcmV0" * 4}),
            ("email", {"address": "ada@example.org"}, {}),
            ("apprise", {}, {"url": f"gotify://127.0.0.1:{ports['p']}/{gotify.TOKEN}"}),
        ]
        done = subprocess.run(
            [sys.executable, "-c", _WORKER, json.dumps(channels)],
            cwd=settings.BASE_DIR,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "DATABASE_URL": "postgresql:///nothing-is-asked-of-it",
                "REDIS_URL": "redis://127.0.0.1:1/0",
                "SECRET_KEY": "a key of at least thirty-two letters",
                "ENCRYPTION_KEYS": settings.ENCRYPTION_KEYS[0],
                "ALLOWED_NETWORKS": "127.0.0.0/8",
                "EMAIL_URL": f"smtp://127.0.0.1:{ports['m']}",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    answers, loaded = json.loads(done.stdout)
    assert set(answers) == {"Retryable" if gone else "Delivered"}
    assert [name for name in loaded if not name.startswith("encodings.")] == []
