"""The caller of the API, and what their token may do."""

from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from api.protocol.problems import Problem, of_status
from common.redis.request_limiter import Limit, Verdict
from people import tokens
from people.models import ApiToken

_SAFE = ("GET", "HEAD", "OPTIONS")


class ApiRequest(HttpRequest):
    """A request after authentication."""

    auth: ApiToken
    verdict: Verdict
    counted: Limit
    messages: int
    """How many it has moved, where `counted` is in messages."""
    takes_odd_numbers: bool


class Bearer(HttpBearer):
    """Requires a token: the scope `read` to read, `scope` for everything else.

    `shows_secrets`: what is read has addresses that are secret, also from viewers of a team.
    """

    def __init__(self, scope: str, *, shows_secrets: bool = False) -> None:
        super().__init__()
        self.scope, self.shows_secrets = scope, shows_secrets

    def __call__(self, request: HttpRequest) -> ApiToken:
        # `calls.handle` has authenticated the request already.
        token: ApiToken = request.auth  # type: ignore[attr-defined]
        require(token, "read" if request.method in _SAFE else self.scope)
        if self.shows_secrets:
            require_change(token)
        return token

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        return self(request)


def authenticate(request: HttpRequest) -> ApiToken:
    """The request's token. Raises a 401 problem."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise unauthorised("Send the header “Authorization: Bearer <token>”. Make a token on the settings page.")
    if (result := tokens.find(token.strip())) is None:
        raise unauthorised("This token is not valid: it is unknown, expired or revoked. Make one on the settings page.")
    tokens.record_use(result, timezone.now())
    return result


def require(token: ApiToken, scope: str) -> None:
    """Raises a 403 problem if the token does not have the scope."""
    if scope not in token.scopes:
        raise Problem(
            403,
            "scope",
            "This token may not do this.",
            f"It needs the scope “{scope}” and has: {', '.join(token.scopes)}. Make another one on the settings page.",
        )


def require_change(token: ApiToken) -> None:
    """Raises a 403 problem for a viewer of a team."""
    if not token.user.may_change:
        raise of_status(403, "Viewers of a team do not see secret addresses. Ask an owner for another role.")


def unauthorised(detail: str) -> Problem:
    return Problem(
        401,
        "unauthorised",
        "This needs a valid token.",
        detail,
        headers={"WWW-Authenticate": 'Bearer realm="carillon"'},
    )
