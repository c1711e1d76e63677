"""The tokens of the account: make, rotate and revoke them."""

from typing import Annotated
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Router
from pydantic import BaseModel, Field, WithJsonSchema as Shown

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer, unauthorised
from api.protocol.answers import answer, documents, fields_of, secret_answer
from api.protocol.fields import FormBody, Instant, Texts, limited, one_of
from api.protocol.problems import FieldError, conflict, invalid, require_valid
from common.uuid7 import uuid7
from people import tokens
from people.account.token_form import TokenForm
from people.models import ApiToken

router = Router(tags=["me"], auth=Bearer("tokens"))
_MAKER = Bearer(tokens.MAKE)


class TokenDocument(BaseModel):
    id: UUID = Field(description="The id of the token.")
    label: str = Field(description="What it is for.")
    prefix: str = Field(description="How the token begins.")
    scopes: list[Annotated[str, one_of(tokens.SCOPES)]] = Field(description="What it may do.")
    made_by_id: UUID | None = Field(description="The token that made it; null: the settings page.")
    created_at: Instant = Field(description="When it was made.")
    expires_at: Instant | None = Field(description="When it ends; null: never.")
    last_used_at: Instant | None = Field(description="When it was last used, to the minute.")
    calls: int = Field(description="The calls that it was used for, some seconds late.")


class NewToken(TokenDocument):
    token: str = Field(description="What to send as “Bearer”. No other answer has it.")


class TokenBody(FormBody):
    model_config = limited(TokenForm)

    label: str = Field(description="What it is for.", json_schema_extra={"minLength": 1})
    scopes: Annotated[
        Texts,
        Shown({"type": "array", "items": {"type": "string", "enum": tokens.GIVEN}, "minItems": 1}),
    ] = Field(description="Some of those of the token that makes it.")
    expires_at: Instant | None = Field(None, description="Not after the token that makes it; null: with it.")


@router.get("", response=paging.Page[TokenDocument], summary="List the tokens")
def list_tokens(request: ApiRequest) -> HttpResponse:
    """Those that are not revoked, newest first."""
    return paging.answer_all(documents(TokenDocument, tokens.valid_tokens(request.auth.user)))


@router.post("", response={201: NewToken}, summary="Make a token", auth=_MAKER)
def create_token(request: ApiRequest, body: TokenBody) -> HttpResponse:
    """With rights of this token, never more, and never the one to make tokens. It is revoked with this token. With
    `Idempotency-Key`, a repeated request gets the same token."""
    form = TokenForm({"label": body.label, "scopes": body.scopes, "days": "", "made_as": uuid7()})
    if body.expires_at is not None and body.expires_at <= timezone.now():
        body.refuse(FieldError("expires_at", "This time has passed. Choose a later one.", "passed"))
    require_valid(body, form)
    label, scopes = form.cleaned_data["label"], form.cleaned_data["scopes"]
    try:
        row, token = tokens.create_by(request.auth, label, scopes, body.expires_at)
    except tokens.BeyondRights as refusal:
        raise invalid(FieldError(refusal.field, str(refusal), "not_allowed")) from None
    except tokens.Revoked:
        raise unauthorised("This token has just been revoked.") from None
    row.refresh_from_db()
    return secret_answer(fields_of(TokenDocument, row) | {"token": token}, 201, Location=f"{request.path}/{row.id}")


@router.get("/{uuid:token_id}", response=TokenDocument, summary="Read a token")
def read_token(request: ApiRequest, token_id: UUID) -> HttpResponse:
    """Unless it is revoked."""
    return answer(fields_of(TokenDocument, _own(request, token_id)))


@router.post("/{uuid:token_id}/rotate", response=NewToken, summary="Replace the secret of a token", auth=_MAKER)
def rotate_token(request: ApiRequest, token_id: UUID) -> HttpResponse:
    """Of one that this token has made. The one before is refused from now on; label, rights and end stay."""
    if (rotated := tokens.rotate(request.auth, _own(request, token_id).id)) is None:
        raise conflict("This token has not made it. Use the one that has, or make another.")
    return secret_answer(fields_of(TokenDocument, rotated[0]) | {"token": rotated[1]})


@router.delete("/{uuid:token_id}", response={204: None}, summary="Revoke a token")
def revoke_token(request: ApiRequest, token_id: UUID) -> None:
    """At once, and for good, with those that it has made. A token may revoke itself."""
    if not tokens.revoke(request.auth.user, token_id):
        raise Http404


def _own(request: ApiRequest, token_id: UUID) -> ApiToken:
    return get_object_or_404(ApiToken, user=request.auth.user, id=token_id, revoked_at=None)
