"""Reminders that check first: the streak of two people at GitHub, and a price."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from demo.installation import Installation, wait_until
from demo.person import Person
from demo.receivers import HTTPReceiver, Reply, github
from demo.report import Count, say

_ZONE = "Europe/Berlin"
_DUE_IN = timedelta(seconds=4)
_STREAK, _RINGS = "Your {streak}-day streak is at risk", "Your 40-day streak is at risk"
_PRICE = "The kettle costs {value}"


def accounts() -> Mapping[str, Mapping[date, int]]:
    """Ben has contributed today and on 40 days before; Cleo on those 40 days."""
    today = datetime.now(ZoneInfo(_ZONE)).date()
    before = {today - timedelta(days=number): 2 for number in range(1, 41)}
    return {"ben": before | {today: 3}, "cleo": before}


class Checks:
    """`site` asks GitHub at a local server that knows `accounts()`, and the price at `shop`."""

    def __init__(self, site: Installation, shop: HTTPReceiver) -> None:
        self.site = site
        self.shop = shop

    def run(self) -> list[Count]:
        """Run it, and return the counts. Raises DemoFailed."""
        with closing(self._person("Ben")) as ben, closing(self._person("Cleo")) as cleo:
            say("\nBen and Cleo want to hear of their streaks at GitHub, only on days without a contribution")
            slot = (datetime.now(UTC) + _DUE_IN).replace(microsecond=0)
            for person in (ben, cleo):
                account = person.email.partition("@")[0]
                person.connect("github", "GitHub", token=github.token(account))
                person.remind(_STREAK, slot, check="github_streak")
            for person, name in ((ben, "Ben"), (cleo, "Cleo")):
                say(f"  {name}: {self._explained(person, _STREAK, 1)[0]}")
            return [*self._streaks(ben, cleo), *self._watch(cleo)]

    def _streaks(self, ben: Person, cleo: Person) -> list[Count]:
        wait_until(lambda: cleo.inbox(_RINGS), "Cleo's streak reminder", within=60)
        return [
            Count("streak reminders to Ben, who has contributed today", 0, ben.inbox("streak")),
            Count("streak reminders to Cleo, who has not", 1, cleo.inbox(_RINGS)),
        ]

    def _watch(self, cleo: Person) -> list[Count]:
        say("\nCleo watches a price, and wants to hear when it falls below 90")
        at = datetime.now(UTC) + timedelta(days=1)
        question = {"job-url": f"{self.shop.origin}/kettle", "job-condition": "below", "job-limit": "90"}
        cleo.remind(_PRICE, at, check="web_value", **question, **{"job-expression": ".price", "job-fresh_for": "0"})
        for number, price in enumerate(("99.90", "89.90", "89.90"), 1):
            self.shop.answer = Reply(200, {"Content-Type": "text/html"}, f"<p class=price>{price} EUR</p>".encode())
            cleo.run_now(_PRICE)
            say(f"  the page says {price}: {self._explained(cleo, _PRICE, number)[0]}")
        wait_until(lambda: cleo.inbox("The kettle costs 89.90 EUR"), "the price's message", within=60)
        return [Count("messages about the price, below 90 once in three checks", 1, cleo.inbox("The kettle"))]

    def _explained(self, person: Person, title: str, count: int) -> list[str]:
        """What Explain says of the slots, newest first, once so many checks have ended."""

        def found() -> list[str] | None:
            said = person.explained(title)
            return said if len(said) == count and all("hecked" in line for line in said) else None

        return wait_until(found, f"check {count} of “{title}”", within=60)

    def _person(self, name: str) -> Person:
        return Person(self.site.url, name, f"{name.lower()}@example.org", secrets.token_urlsafe(12), _ZONE)
