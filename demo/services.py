"""Local servers that answer as Telegram, Discord, Slack, ntfy and Gotify document it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from demo.receivers import HTTPReceiver, Received, discord, gotify, ntfy, slack, telegram


@dataclass(frozen=True)
class Service:
    """`typed`: what a person types into the form of `kind`. `settings`: the address of the server for Carillon."""

    label: str
    kind: str
    receiver: HTTPReceiver
    typed: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)

    def said(self, title: str) -> Sequence[Received]:
        """The messages with this title that arrived."""
        return [request for request in self.receiver.requests if title.encode() in request.body]


@contextmanager
def services() -> Iterator[list[Service]]:
    """Start all of them."""
    with ExitStack() as closed:

        def server(module: object) -> HTTPReceiver:
            return closed.enter_context(HTTPReceiver(module.answer))  # type: ignore[attr-defined]

        bots, hooks, chat, pushes, gotify_server = map(server, (telegram, discord, slack, ntfy, gotify))
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
            Service(
                "Gotify", "apprise", gotify_server, {"url": f"gotify://127.0.0.1:{gotify_server.port}/{gotify.TOKEN}"}
            ),
        ]
