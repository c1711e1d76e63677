"""GitHub's GraphQL API, as https://docs.github.com/en/graphql documents it, for contribution calendars.

    with HTTPReceiver(GitHub({"octocat": days}).answer) as server: …   # GITHUB_URL=server.origin

The token of an account is `token(login)`; any other token has bad credentials. Logins that begin with `revoked`,
`limited`, `partial`, `half` or a name in `TROUBLE` are answered so. A token has `points` requests before its limit.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from demo.receivers.http import Answer, Hang, Received, Reply, Reset

_MANY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
_SLOW = "We couldn't respond to your request in time. Sorry about that. Please try resubmitting your request."
_POOL = "API rate limit already exceeded for user ID 583231."
_RESET = 1800  # seconds until the primary limit is that of another hour


def token(login: str) -> str:
    """A classic token with the login in it."""
    return "ghp_" + "".join(filter(str.isalnum, login)).ljust(36, "0")


class GitHub:
    """`accounts`: the contributions by day of each login; they may be changed at any time. `asked`: by login."""

    def __init__(self, accounts: Mapping[str, Mapping[date, int]], points: int = 5000) -> None:
        self.accounts = accounts
        self.points = points
        self.asked: Counter[str] = Counter()

    def answer(self, request: Received) -> Answer:
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not headers.get("user-agent"):
            return _reply(403, {"message": "Request forbidden by administrative rules."})
        if request.path != "/graphql" or request.method != "POST":
            return _reply(404, {"message": "Not Found"})
        kind, _, given = headers.get("authorization", "").partition(" ")
        owner = next((login for login in self.accounts if given == token(login)), None)
        if kind.lower() != "bearer" or owner is None or owner.startswith("revoked"):
            return _reply(401, {"message": "Bad credentials", "status": "401"})
        self.asked[owner] += 1
        left = self.points - self.asked[owner]
        if left < 0 or owner.startswith("limited"):
            return self._told(0, None, {"type": "RATE_LIMITED", "message": _POOL})
        for name, trouble in TROUBLE.items():
            if owner.startswith(name):
                return trouble()
        return self._query(json.loads(request.body), owner, left)

    def _query(self, asked: Mapping[str, Any], owner: str, left: int) -> Reply:
        variables = asked.get("variables") or {}
        field, login = ("user", variables["login"]) if "user(" in asked["query"] else ("viewer", owner)
        if login not in self.accounts:
            said = f"Could not resolve to a User with the login of '{login}'."
            return self._told(left, {field: None}, {"type": "NOT_FOUND", "path": [field], "message": said})
        if "contributionsCollection" not in asked["query"]:
            return self._told(left, {field: {"login": login}})
        start, end = (_instant(variables[name]) for name in ("from", "to"))
        if end - start > timedelta(days=366):
            said = "The total time spanned by 'from' and 'to' must not exceed 1 year"
            return self._told(left, {field: None}, {"type": "UNPROCESSABLE", "path": [field], "message": said})
        if owner.startswith("partial"):
            said = "Resource limits for this query exceeded."
            found = {"login": login, "contributionsCollection": None}
            return self._told(left, {field: found}, {"type": "RESOURCE_LIMITS_EXCEEDED", "message": said})
        if owner.startswith("half"):
            return self._told(left, {field: {"login": login, "contributionsCollection": None}})
        calendar = {"weeks": _weeks(self.accounts[login], start.date(), end.date())}
        return self._told(
            left, {field: {"login": login, "contributionsCollection": {"contributionCalendar": calendar}}}
        )

    def _told(self, left: int, data: Any, *errors: dict[str, Any]) -> Reply:
        limits = {
            "x-ratelimit-limit": str(self.points),
            "x-ratelimit-remaining": str(left),
            "x-ratelimit-used": str(self.points - left),
            "x-ratelimit-reset": str(int(time.time()) + _RESET),
            "x-ratelimit-resource": "graphql",
        }
        return _reply(200, {"data": data} | ({"errors": list(errors)} if errors else {}), limits)


def _weeks(days: Mapping[date, int], day: date, last: date) -> list[dict[str, Any]]:
    """From Sunday to Saturday; the first and the last one may be short."""
    weeks: list[dict[str, Any]] = []
    while day <= last:
        if not weeks or day.isoweekday() == 7:
            weeks.append({"contributionDays": []})
        weeks[-1]["contributionDays"].append({"date": day.isoformat(), "contributionCount": days.get(day, 0)})
        day += timedelta(days=1)
    return weeks


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def _reply(status: int, document: Any, headers: Mapping[str, str] | None = None) -> Reply:
    told = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    return Reply(status, told, json.dumps(document).encode())


def _out_of_points() -> Reply:
    spent = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + _RESET)}
    return _reply(403, {"message": _POOL}, spent)


TROUBLE: dict[str, Callable[[], Answer]] = {
    "spent": _out_of_points,
    "secondary": lambda: _reply(403, {"message": _MANY}, {"Retry-After": "77"}),
    "abuse": lambda: _reply(403, {"message": _MANY}),
    "quiet": lambda: _reply(200, {"data": None, "errors": [{"message": _MANY}]}),
    "many": lambda: _reply(429, {"message": "Too many requests"}),
    "suspended": lambda: _reply(403, {"message": "Sorry. Your account was suspended."}),
    "scope": lambda: _reply(200, {"errors": [{"type": "INSUFFICIENT_SCOPES", "message": "Your token has no scope."}]}),
    "slow": lambda: _reply(502, {"message": _SLOW}),
    "gateway": lambda: _reply(504, {"message": _SLOW}),
    "broken": lambda: Reply(500, {"Content-Type": "text/html"}, b"<html>Unicorn!</html>"),
    "null": lambda: _reply(200, {"data": None}),
    "page": lambda: Reply(200, {"Content-Type": "text/html"}, b"<html></html>"),
    "hang": Hang,
    "reset": Reset,
}
"""What else GitHub answers, by the beginning of the login whose token asks."""
