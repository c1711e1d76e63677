"""The account of the token, and its tokens."""

from typing import Annotated, Any
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import Instant, one_of
from events.intake import usage
from people import tokens
from people.models import ApiToken

router = Router(tags=["me"], auth=Bearer("tokens"))


class TokenDocument(BaseModel):
    id: UUID
    label: str
    prefix: str = Field(description="How the token begins. The rest is not stored.")
    scopes: list[Annotated[str, one_of(tokens.SCOPES)]] = Field(description="What it may do.")
    created_at: Instant
    expires_at: Instant | None = Field(description="When it stops working; null: never.")
    last_used_at: Instant | None = Field(description="When it was last used, to a minute; null: not yet.")


class UsageDocument(BaseModel):
    """Of the events of this UTC day, with what their messages store, and of this minute. A limit of 0 is none."""

    events: int = Field(description="Events of this day.")
    most_events: int = Field(description="How many you may publish in a day.")
    bytes: int = Field(description="Bytes that the events of this day store, with their messages.")
    most_bytes: int = Field(description="How many bytes they may store in a day.")
    this_minute: int = Field(description="Events of this minute.")
    most_a_minute: int = Field(description="How many you may publish in a minute.")


class Me(BaseModel):
    """`quiet_from` and `quiet_until` are times of day in `effective_time_zone`."""

    id: int = Field(description="The number of the account.")
    email: str = Field(description="The primary email address, with which you sign in.")
    name: str = Field(description="How you want to be called; may be empty.")
    time_zone: str | None = Field(description="The one that you have chosen; null: none yet.")
    effective_time_zone: str = Field(description="What applies: yours, or UTC while you have chosen none.")
    quiet_from: str | None = Field(description="When your quiet hours begin, such as `22:00`; null: you have none.")
    quiet_until: str | None = Field(description="When they end, such as `07:00`.")
    usage: UsageDocument = Field(description="How much of your quota of events is used.")
    token: TokenDocument = Field(description="The token of this request.")


@router.get("", response=Me, summary="Read the account and the token")
def read_account(request: ApiRequest) -> HttpResponse:
    """Also what the token may do, and when it expires."""
    person = request.auth.user
    used = fields_of(UsageDocument, usage.used(person.pk))
    zones = {"time_zone": person.time_zone or None, "effective_time_zone": person.zone.key}
    return answer(fields_of(Me, person, **zones, usage=used, token=_document(request.auth)))


@router.get("/tokens", response=paging.Page[TokenDocument], summary="List the tokens")
def list_tokens(request: ApiRequest) -> HttpResponse:
    """Those that are not revoked, newest first. The settings page makes new ones; a token cannot."""
    return paging.answer_all(map(_document, tokens.valid_tokens(request.auth.user)))


@router.delete("/tokens/{uuid:token_id}", response={204: None}, summary="Revoke a token")
def revoke_token(request: ApiRequest, token_id: UUID) -> HttpResponse:
    """At once, and for good. A token may revoke itself."""
    if not tokens.revoke(request.auth.user, token_id):
        raise Http404
    return HttpResponse(status=204)


def _document(token: ApiToken) -> dict[str, Any]:
    return fields_of(TokenDocument, token)
