"""Each kind of channel from its form to its first test: added, confirmed by the code that came, tried, found broken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
from django.core import mail
from django.test import Client, override_settings
from pytest_django import Settings

from demo.receivers import HTTPReceiver, Reply, discord, gotify, matrix, ntfy, slack, telegram
from notifications import providers
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.db.notifications.conftest import send_all

pytestmark = pytest.mark.django_db


@dataclass
class Service:
    """What a person types, the texts that arrived so far, and how to make the service refuse everything from now on."""

    typed: dict[str, str]
    texts: Callable[[], list[str]]
    breaks: Callable[[], object]
    refusal: str


# What else the forms of some kinds take.
OTHERS = {
    "telegram, a topic": {"token": telegram.TOKEN, "chat": "https://t.me/c/123/42"},
    "discord, a thread": {"url": f"https://discord.com/api/webhooks/{discord.WEBHOOK}?thread_id={discord.THREAD}"},
    "slack, a workflow": {"url": f"https://hooks.slack.com/{slack.WORKFLOW}"},
    "slack, another chat server": {"url": f"SERVER{slack.MATTERMOST}"},
    "ntfy, under a path": {"server": "SERVER/ntfy", "topic": ntfy.OPEN},
}


@contextmanager
def service(name: str) -> Iterator[Service]:
    """A local server that behaves as the documentation of that kind says."""
    kind = name.partition(",")[0]
    if kind == "email":
        with ExitStack() as broken:
            yield Service(
                {"address": "ada@example.net"},
                lambda: [str(letter.body) for letter in mail.outbox],
                lambda: broken.enter_context(
                    override_settings(
                        EMAIL_BACKEND="notifications.net.smtp.Backend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=1
                    )
                ),
                "The mail server refused the connection.",
            )
        return
    modules = {"telegram": telegram, "discord": discord, "slack": slack, "ntfy": ntfy, "matrix": matrix}
    answer = {**modules, "apprise": gotify}.get(kind)
    with HTTPReceiver(answer and answer.answer) as receiver:
        typed = {
            "webhook": {"url": receiver.url, "headers": "X-Room: 7"},
            "status": {"url": receiver.url, "types": "delivery.* schedule.fired"},
            "telegram": {"token": telegram.TOKEN, "chat": "1"},
            "discord": {"url": f"https://discord.com/api/webhooks/{discord.WEBHOOK}"},
            "slack": {"url": f"https://hooks.slack.com/services/{slack.WEBHOOK}"},
            "ntfy": {"server": receiver.origin, "topic": ntfy.OPEN, "priority": "5"},
            "matrix": {"server": receiver.origin, "room": matrix.ROOM, "token": matrix.TOKEN},
            "apprise": {"url": f"gotify://127.0.0.1:{receiver.port}/{gotify.TOKEN}"},
        }[kind]
        if name in OTHERS:
            typed = {field: value.replace("SERVER", receiver.origin) for field, value in OTHERS[name].items()}
        with override_settings(SERVICE_URLS=dict.fromkeys(("telegram", "discord", "slack"), receiver.origin)):
            yield Service(
                typed,
                lambda: [request.body.decode() for request in receiver.requests],
                lambda: setattr(receiver, "answer", Reply(400, body=b"{}")),
                "The workflow refused the message" if "workflow" in name else "400 Bad Request",
            )


WITHOUT_ADDRESS = ("inbox", "team", "on_call", "board", "queue", "web_push")
KINDS = [provider.kind for provider in providers.all() if provider.kind not in WITHOUT_ADDRESS]


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_a_person_adds_confirms_and_tries_it(
    browser: Client, ada: User, name: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = name.partition(",")[0]
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setattr(type(providers.get(kind)), "rates", ())  # nobody is as quick as this test
    with service(name) as there:
        added = browser.post(f"/channels/new/{kind}/", {**there.typed, "label": "Mine"}, follow=True)
        assert added.status_code == 200
        [channel] = Channel.objects.filter(user=ada, provider=kind)
        assert channel.verified_at is None
        send_all()
        [arrived] = there.texts()
        code = re.findall(r"(?<![\w-])\d{4}-\d{4}(?![\w-])", arrived.replace("\\n", " ").replace("\\", ""))
        confirmed = browser.post(f"/channels/{channel.id}/verify/", {"code": code[0]}, follow=True)
        assert "is ready" in confirmed.content.decode()

        watched = browser.post(f"/channels/{channel.id}/test/", headers={"HX-Request": "true"}).content.decode()
        assert "pending" in watched
        send_all()
        assert "Accepted" in result(browser)
        assert "Nothing is due" in there.texts()[-1]

        there.breaks()
        browser.post(f"/channels/{channel.id}/test/")
        send_all()
        assert there.refusal in result(browser)
        assert there.refusal in browser.get(f"/history/{Notification.objects.latest('id').id}/").content.decode()


def result(browser: Client) -> str:
    """The line beneath the channel, about the newest test."""
    return browser.get(f"/channels/tests/{Delivery.objects.latest('id').id}/").content.decode()
