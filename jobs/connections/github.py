"""GitHub by a token, and its GraphQL API (https://docs.github.com/en/graphql)."""

import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _, gettext_noop

from jobs.connections.base import ConnectionKind
from jobs.reading.fetch import Fetch, Later, Refused, problem
from jobs.reasons import JobCode
from notifications.messages.message import Destination
from notifications.net.http import Response
from notifications.net.post import json_object
from notifications.providers.base import PatternField
from work import retry
from work.reasons import Codes, Reason

SERVICE = "GitHub"

_TOKEN = re.compile(r"ghp_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,240}")
# "Wait for at least one minute before retrying", where an answer says no time.
_PAUSE = 60.0


class GitHubCode(Codes):
    TOKEN = "github-token", gettext_noop("GitHub does not accept this token. Enter a valid one.")
    FORBIDDEN = "github-forbidden", gettext_noop("GitHub does not allow this to the token: {said}")
    LIMITED = "github-limited", gettext_noop("GitHub's rate limit is used up for now.")
    NO_ACCOUNT = "github-no-account", gettext_noop("GitHub has no account “{login}”.")
    INCOMPLETE = "github-incomplete", gettext_noop("GitHub could not answer the whole question.")


class GitHubForm(forms.Form):
    token = PatternField(
        _TOKEN,
        _("A token begins with ghp_ or github_pat_. Copy it whole."),
        secret=True,
        label=_("Token"),
        max_length=300,
        help_text=_(
            "Make one on GitHub, under Settings, Developer settings, Personal access tokens. It needs no permission. "
            "Private contributions count if your profile shows them."
        ),
        error_messages={"required": _("Enter a token of GitHub, such as ghp_…")},
    )


class GitHub(ConnectionKind):
    """Secrets {"token"}; the check adds the address {"login"}."""

    name = "github"
    label = "GitHub"
    position = 10
    about = _("Your account, by a personal access token.")
    form = GitHubForm
    secret_fields = ("token",)

    def summary(self, address: Mapping[str, Any]) -> str:
        return str(address.get("login") or _("not checked yet"))

    def check(self, stored: Destination, fetch: Fetch) -> Mapping[str, Any] | Later | Refused:
        if not (token := stored.secrets.get("token")):
            return Refused(Reason(JobCode.CONNECTION_UNREADABLE))
        data = ask(fetch, token, "query { viewer { login } }")
        if not isinstance(data, dict):
            return data
        login = read(data, "viewer", "login")
        return {"login": login} if isinstance(login, str) and login else incomplete()


def ask(fetch: Fetch, token: str, query: str, **variables: Any) -> dict[str, Any] | Later | Refused:
    """Return the `data` of a query that was answered whole."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    response = fetch.post(f"{settings.SERVICE_URLS['github']}/graphql", body, headers, service=SERVICE)
    document = json_object(response)
    if later := _limited(response, document):
        return later
    if response.status == 401:
        return Refused(Reason(GitHubCode.TOKEN), disconnect=True)
    if response.status == 403:
        return Refused(Reason(GitHubCode.FORBIDDEN, said=str(document.get("message", "HTTP 403"))[:200]))
    if failed := problem(response, SERVICE):
        return failed
    if errors := _errors(document):
        return _refused(errors, variables)
    data = document.get("data")
    return data if isinstance(data, dict) else incomplete()


def read(data: Any, *path: str) -> Any:
    """Return what stands there, None where a part is missing: any field may be null in an answer that is cut short."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def incomplete() -> Later:
    return Later(Reason(GitHubCode.INCOMPLETE))


def _errors(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    errors = document.get("errors")
    return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def _refused(errors: list[dict[str, Any]], variables: Mapping[str, Any]) -> Later | Refused:
    """Return the refusal for GraphQL errors other than a limit."""
    types = {str(error.get("type")) for error in errors}
    if "NOT_FOUND" in types:
        return Refused(Reason(GitHubCode.NO_ACCOUNT, login=variables.get("login", "")))
    if types & {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
        return Refused(Reason(GitHubCode.FORBIDDEN, said=str(errors[0].get("message", ""))[:200]))
    return incomplete()


def _limited(response: Response, document: Mapping[str, Any]) -> Later | None:
    """Whether a rate limit refused it. GitHub says so with 200, 403 or 429; a secondary limit in its message only.

    See "Rate limits and query limits for the GraphQL API".
    """
    headers = response.headers
    after = retry.parse_retry_after(headers.get("Retry-After"), datetime.now(UTC))
    used_up = headers.get("X-RateLimit-Remaining") == "0"
    match response.status:
        case 200:
            is_limit = _names_limit(document)
        case 403:
            is_limit = used_up or after is not None or _names_limit(document)
        case status:
            is_limit = status == 429
    if not is_limit:
        return None
    if after is None:
        reset = headers.get("X-RateLimit-Reset", "")
        has_reset = used_up and re.fullmatch(r"[0-9]{1,12}", reset)
        after = max(1.0, int(reset) - time.time()) if has_reset else _PAUSE
    return Later(Reason(GitHubCode.LIMITED), after)


def _names_limit(document: Mapping[str, Any]) -> bool:
    errors = _errors(document)
    messages = " ".join(str(part.get("message", "")) for part in (document, *errors)).lower()
    is_typed = any(error.get("type") == "RATE_LIMITED" for error in errors)
    return is_typed or "rate limit" in messages or "abuse" in messages
