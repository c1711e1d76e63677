"""The account of the token, and its tokens."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import Instant
from events.intake import usage
from people import tokens
from people.models import ApiToken

router = Router(tags=["me"], auth=Bearer("tokens"))


class TokenDocument(BaseModel):
    id: UUID
    label: str
    prefix: str
    scopes: list[str]
    created: Instant
    expires: Instant | None
    last_used: Instant | None


class Tokens(BaseModel):
    items: list[TokenDocument]


class UsageDocument(BaseModel):
    """Of the events of this UTC day, with what their messages store, and of this minute. A limit of 0 is none."""

    events: int
    most_events: int
    bytes: int
    most_bytes: int
    this_minute: int
    most_a_minute: int


class Me(BaseModel):
    """`quiet_from` and `quiet_until` are times of day in `time_zone`."""

    id: int
    email: str
    name: str
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None
    usage: UsageDocument
    token: TokenDocument


@router.get("", response=Me, summary="Read the account and the token")
def read_account(request: ApiRequest) -> HttpResponse:
    """Also what the token may do, and when it expires."""
    person = request.auth.user
    used = fields_of(UsageDocument, usage.used(person.pk))
    return answer(fields_of(Me, person, time_zone=person.zone.key, usage=used, token=_document(request.auth)))


@router.get("/tokens", response=Tokens, summary="List the tokens")
def list_tokens(request: ApiRequest) -> HttpResponse:
    """Those that are not revoked, newest first. The settings page makes new ones; a token cannot."""
    return answer({"items": [_document(token) for token in tokens.valid_tokens(request.auth.user)]})


@router.delete("/tokens/{uuid:token_id}", response={204: None}, summary="Revoke a token")
def revoke_token(request: ApiRequest, token_id: UUID) -> HttpResponse:
    """At once, and for good. A token may revoke itself."""
    if not tokens.revoke(request.auth.user, token_id):
        raise Http404
    return HttpResponse(status=204)


def _document(token: ApiToken) -> dict[str, Any]:
    return fields_of(TokenDocument, token)
