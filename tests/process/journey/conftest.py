"""One site for all journeys: its engines, web, worker and beat are real, and are killed for real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from demo import codes
from demo.checks import accounts
from demo.installation import Installation, wait_until
from demo.outcome import Outcome, outcome
from demo.person import Person
from demo.receivers import HTTPReceiver, Mail, Reply, SMTPReceiver
from demo.receivers.github import GitHub
from demo.services import Service, services
from tests import migrated


@dataclass
class Journey:
    """A person with an inbox, a mail and a webhook channel; `hook` may be told to answer otherwise."""

    site: Installation
    ada: Person
    post: SMTPReceiver
    hook: HTTPReceiver
    secret: str

    def remind(self, title: str, within: float = 2.0) -> None:
        """A reminder through the form, due in so many seconds."""
        self.ada.remind(title, datetime.now(UTC) + timedelta(seconds=within))

    def settled(self, title: str, within: float = 120.0) -> Outcome:
        """The account once every delivery has come to an end."""

        def found() -> Outcome | None:
            said = outcome(self.site, title)
            return said if said and said.settled else None

        return wait_until(found, f"the end of “{title}”", within)

    def mails(self, title: str) -> list[Mail]:
        return [mail for mail in self.post.mails if mail.message["Subject"] == title]


@pytest.fixture(scope="module")
def others() -> Iterator[list[Service]]:
    with services() as played:
        yield played


@pytest.fixture(scope="module")
def installation_and_post(others: list[Service]) -> Iterator[tuple[Installation, SMTPReceiver]]:
    # Of this module alone: two stages on one broker would take each other's messages.
    leading = {name: url for service in others for name, url in service.settings.items()}
    with SMTPReceiver() as post, HTTPReceiver(GitHub(accounts()).answer) as source:
        leading |= {"EMAIL_URL": post.url, "GITHUB_URL": source.origin}
        with Installation("test_journey", migrated.template(), **leading) as site:
            site.start(site.web, site.worker, site.beat)
            yield site, post


@pytest.fixture
def journey(
    installation_and_post: tuple[Installation, SMTPReceiver], request: pytest.FixtureRequest
) -> Iterator[Journey]:
    site, post = installation_and_post
    with ExitStack() as closed:
        hook = closed.enter_context(HTTPReceiver(Reply(204, body=b"")))
        email = f"{request.node.name.replace('_', '-')}@example.org"
        ada = closed.enter_context(closing(Person(site.url, "Ada", email, "a long enough passphrase", "Asia/Kolkata")))
        ada.add_email("Mail", email)
        ada.confirm("Mail", lambda: codes.in_mails(post, email))
        secret = ada.add_webhook("Hook", hook.url)
        ada.confirm("Hook", lambda: codes.in_posts(hook))
        hook.requests.clear()
        yield Journey(site, ada, post, hook, secret)
    for name, lines in site.logs.items():  # shown where the test failed
        request.node.add_report_section("teardown", f"lines of {name}", "\n".join(lines))
