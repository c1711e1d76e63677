"""Telegram, Discord, Slack, ntfy and Gotify, each played by a server here that answers as its documentation says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from demo.receivers import HTTPReceiver, Received, discord, gotify, ntfy, slack, telegram


@dataclass(frozen=True)
class Service:
    """`typed` is what a person writes into the form of `kind`; `settings` leads Carillon to the server."""

    label: str
    kind: str
    receiver: HTTPReceiver
    typed: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)

    def said(self, title: str) -> Sequence[Received]:
        """The messages with this title that came."""
        return [request for request in self.receiver.requests if title.encode() in request.body]


@contextmanager
def services() -> Iterator[list[Service]]:
    """All of them, listening while the block runs."""
    with ExitStack() as closed:

        def server(module: object) -> HTTPReceiver:
            return closed.enter_context(HTTPReceiver(module.answer))  # type: ignore[attr-defined]

        bots, hooks, chat, pushes, bells = map(server, (telegram, discord, slack, ntfy, gotify))
        yield [
            Service(
                "Telegram", "telegram", bots, {"token": telegram.TOKEN, "chat": "1"}, {"TELEGRAM_URL": bots.origin}
            ),
            Service(
                "Discord",
                "discord",
                hooks,
                {"url": f"https://discord.com/api/webhooks/{discord.WEBHOOK}"},
                {"DISCORD_URL": hooks.origin},
            ),
            Service(
                "Slack",
                "slack",
                chat,
                {"url": f"https://hooks.slack.com/services/{slack.WEBHOOK}"},
                {"SLACK_URL": chat.origin},
            ),
            Service("ntfy", "ntfy", pushes, {"server": pushes.origin, "topic": ntfy.OPEN}),
            Service("Gotify", "apprise", bells, {"url": f"gotify://127.0.0.1:{bells.port}/{gotify.TOKEN}"}),
        ]
