"""The client: one attribute for each resource."""

from collections.abc import Iterator
from typing import Self, Unpack

from carillon_client.changes import Changes, StatusWebhooks
from carillon_client.channels import Boards, Channels, Queues
from carillon_client.connection import Connection
from carillon_client.connections import Connections, Inbound
from carillon_client.documents import Account, Settings, SettingsFields, Total
from carillon_client.events import Events, EventTypes, Rules, Runs
from carillon_client.locks import Counters, Locks
from carillon_client.notifications import Batches, DeadLetters, Inbox, Notifications
from carillon_client.schedules import Holidays, JobKinds, Schedules
from carillon_client.teams import Teams
from carillon_client.tokens import Tokens
from carillon_client.topics import Subscriptions, Topics
from carillon_client.watches import Watches


class Client:
    """`url` is the server's address, `token` one of your settings page. Use it in one thread, and `close` it."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0, tries: int = 5) -> None:
        self.connection = Connection(url, token, timeout=timeout, tries=tries)
        self.schedules = Schedules(self.connection)
        self.holidays = Holidays(self.connection)
        self.channels = Channels(self.connection)
        self.notifications = Notifications(self.connection)
        self.inbox = Inbox(self.connection)
        self.teams = Teams(self.connection)
        self.tokens = Tokens(self.connection)
        self.events = Events(self.connection)
        self.event_types = EventTypes(self.connection)
        self.rules = Rules(self.connection)
        self.runs = Runs(self.connection)
        self.batches = Batches(self.connection)
        self.dead_letters = DeadLetters(self.connection)
        self.topics = Topics(self.connection)
        self.subscriptions = Subscriptions(self.connection)
        self.queues = Queues(self.connection)
        self.locks = Locks(self.connection)
        self.boards = Boards(self.connection)
        self.counters = Counters(self.connection)
        self.watches = Watches(self.connection)
        self.inbound = Inbound(self.connection)
        self.connections = Connections(self.connection)
        self.job_kinds = JobKinds(self.connection)
        self.changes = Changes(self.connection)
        self.status_webhooks = StatusWebhooks(self.connection)

    def me(self) -> Account:
        """Return the token's account, and what it may do."""
        return self.connection.get("/me")

    def totals(self, span: str = "lifetime") -> Iterator[Total]:
        """Return what was sent, delivered and dead by kind and provider; `span`: minute, day or lifetime."""
        return self.connection.pages("/me/totals", span=span)

    def settings(self) -> Settings:
        """Return your name, language, time zone and quiet hours."""
        return self.connection.get("/me/settings")

    def change_settings(self, **fields: Unpack[SettingsFields]) -> Settings:
        """Fields that are not given stay as they are."""
        return self.connection.change("PATCH", "/me/settings", fields)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
