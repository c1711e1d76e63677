"""Who the token belongs to, and the account's tokens."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Router, Schema

from api.access import ApiRequest, Bearer
from api.fields import Instant
from api.problems import not_found
from people import tokens
from people.models import ApiToken

router = Router(tags=["me"], auth=Bearer("tokens"))


class TokenDocument(Schema):
    id: UUID
    label: str
    prefix: str
    scopes: list[str]
    created: Instant
    expires: Instant | None
    last_used: Instant | None


class Tokens(Schema):
    items: list[TokenDocument]


class Me(Schema):
    """`quiet_from` and `quiet_until` are times of day in `time_zone`."""

    id: int
    email: str
    name: str
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None
    token: TokenDocument


@router.get("", response=Me, summary="Read the account and the token")
def read_account(request: ApiRequest) -> dict[str, Any]:
    """Also what the token may do, and when it expires."""
    person, token = request.auth.user, request.auth
    return {
        "id": person.pk,
        "email": person.email,
        "name": person.name,
        "time_zone": person.zone.key,
        "quiet_from": person.quiet_from and f"{person.quiet_from:%H:%M}",
        "quiet_until": person.quiet_until and f"{person.quiet_until:%H:%M}",
        "token": _document(token),
    }


@router.get("/tokens", response=Tokens, summary="List the tokens")
def list_tokens(request: ApiRequest) -> dict[str, Any]:
    """Those that are not revoked, newest first. The settings page makes new ones; a token cannot."""
    return {"items": [_document(token) for token in tokens.valid_tokens(request.auth.user)]}


@router.delete("/tokens/{uuid:token_id}", response={204: None}, summary="Revoke a token")
def revoke_token(request: ApiRequest, token_id: UUID) -> HttpResponse:
    """At once, and for good. A token may revoke itself."""
    if not tokens.revoke(request.auth.user, token_id):
        raise not_found()
    return HttpResponse(status=204)


def _document(token: ApiToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "label": token.label,
        "prefix": token.prefix,
        "scopes": token.scopes,
        "created": token.created_at,
        "expires": token.expires_at,
        "last_used": token.last_used_at,
    }
