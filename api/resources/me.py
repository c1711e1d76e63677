"""The account of the token, its settings and its tokens: make, rotate and revoke them."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, Field, WithJsonSchema as Shown

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer, unauthorised
from api.protocol.answers import answer, documents, fields_of, of, secret_answer
from api.protocol.fields import FewNames, FormBody, Instant, Partial, Texts, limited, one_of
from api.protocol.problems import FieldError, conflict, invalid, require_valid
from common.uuid7 import uuid7
from events.intake import usage
from people import tokens
from people.account.settings_form import SettingsForm
from people.account.token_form import TokenForm
from people.models import ApiToken, User
from people.user_lock import lock_user
from work import totals
from work.models import PersonTotal

router = Router(tags=["me"], auth=Bearer("settings"))
tokens_router = Router(tags=["me"], auth=Bearer("tokens"))
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


class UsageDocument(BaseModel):
    """Of the events of this UTC day, with what their messages store, and of this minute. A limit of 0 is none."""

    events: int = Field(description="Events of this day.")
    most_events: int = Field(description="How many you may publish in a day.")
    bytes: int = Field(description="Bytes that the events of this day store, with their messages.")
    most_bytes: int = Field(description="How many bytes they may store in a day.")
    this_minute: int = Field(description="Events of this minute.")
    most_a_minute: int = Field(description="How many you may publish in a minute.")


class TotalDocument(BaseModel):
    """Work of one kind and provider that ended, or pings or calls that came, in a minute, on a day, or ever."""

    began_at: Instant = of("start", "When the minute or the day (UTC) began; of the lifetime, 1970.")
    kind: str = Field(description="`delivery`, `job`, `event` and others; `ping`; `api`, calls with your tokens.")
    handler: str = Field(description="The provider of deliveries, the kind of jobs; else empty.")
    tries: int = Field(description="Sent, or otherwise tried; all pings, all calls.")
    done: int = Field(description="Delivered, or otherwise done; pings of a success, calls that were not refused.")
    dead: int = Field(description="Failed for good; pings of a failure, calls answered with 500 or above.")


class Settings(BaseModel):
    """`quiet_from` and `quiet_until` are times of day in `time_zone`, both or neither."""

    name: str = Field(description="As messages and pages call you; may be empty.")
    language: str = Field(
        description="Of pages and messages; empty: the one that the browser asks for.",
        json_schema_extra={"enum": ["", *dict(settings.LANGUAGES)]},
    )
    time_zone: str = Field(description="Empty: not chosen yet.")
    quiet_from: str | None = Field(description="When quiet hours begin; null: none.", examples=["22:00"])
    quiet_until: str | None = Field(description="When they end.", examples=["07:00"])
    weekly_hours: Annotated[dict[str, Texts], FewNames] = Field(
        description="Instead of quiet hours: from when until when messages may come, by day from `mon` to `sun`, on "
        "the next day if `until` is not later; none on other days. Empty: not used.",
        examples=[{"mon": ["08:00", "18:00"], "sat": ["10:00", "12:00"]}],
    )
    public_holidays: str = Field(
        description="Of a country (`DE`) or its region (`DE-BY`): hours on them are those of `sun`. Empty: of none.",
        examples=["DE-BY"],
    )


class SettingsPatch(Partial, FormBody, Settings):
    model_config = limited(SettingsForm)


class Me(BaseModel):
    """`quiet_from` and `quiet_until` are times of day in `effective_time_zone`."""

    id: int = Field(description="The number of the account.")
    email: str = Field(description="The primary email address, with which you sign in.")
    name: str = Field(description="How you want to be called; may be empty.")
    time_zone: str | None = of(lambda person: person.time_zone or None, "The one that you have chosen; null: none yet.")
    effective_time_zone: str = of("zone.key", "What applies: yours, or UTC while you have chosen none.")
    quiet_from: str | None = Field(description="When your quiet hours begin, such as `22:00`; null: you have none.")
    quiet_until: str | None = Field(description="When they end, such as `07:00`.")
    weekly_hours: dict[str, list[str]] = Field(description="Instead of them: when messages may come, by day.")
    public_holidays: str = Field(description="The country or region whose public holidays count as Sundays.")
    usage: UsageDocument = Field(description="How much of your quota of events is used.")
    token: TokenDocument = Field(description="The token of this request.")


@router.get("", response=Me, summary="Read the account and the token")
def read_account(request: ApiRequest) -> HttpResponse:
    """Also what the token may do, and when it expires."""
    person = request.auth.user
    used = fields_of(UsageDocument, usage.used(person.pk))
    return answer(fields_of(Me, person, usage=used, token=fields_of(TokenDocument, request.auth)))


@router.get("/totals", response=paging.Page[TotalDocument], summary="List totals of your work")
def list_totals(
    request: ApiRequest, page: Query[paging.PageParameters], span: Literal["minute", "day", "lifetime"] = "lifetime"
) -> HttpResponse:
    """By kind and provider, some minutes late; pings and calls, some seconds. They stay when what was counted is
    deleted: minutes for two hours, days for a year, the lifetime as long as the account."""
    seconds = {"minute": totals.MINUTE, "day": totals.DAY, "lifetime": totals.LIFETIME}[span]
    rows = PersonTotal.objects.filter(user=request.auth.user, span=seconds)
    return paging.answer_page(rows, request, page, TotalDocument)


@router.get("/settings", response=Settings, summary="Read the settings")
def read_settings(request: ApiRequest) -> HttpResponse:
    """Your name, language, time zone and quiet hours."""
    return answer(fields_of(Settings, request.auth.user))


@router.patch("/settings", response=Settings, summary="Change the settings")
def change_settings(request: ApiRequest, body: SettingsPatch) -> HttpResponse:
    """Fields that are not given stay as they are. Messages that wait for the end of quiet hours are decided anew."""
    with lock_user(request.auth.user):
        user = User.objects.get(pk=request.auth.user_id)
        form = settings_form(user, body.model_dump(exclude_unset=True))
        require_valid(body, form)
        form.save()
    return answer(fields_of(Settings, user))


def settings_form(user: User, given: dict[str, Any]) -> SettingsForm:
    """The page's form, with the stored values where none are given."""
    stored = {name: getattr(user, name) for name in SettingsForm.base_fields}
    return SettingsForm(stored | given, instance=user)


@tokens_router.get("", response=paging.Page[TokenDocument], summary="List the tokens")
def list_tokens(request: ApiRequest) -> HttpResponse:
    """Those that are not revoked, newest first."""
    return paging.answer_all(documents(TokenDocument, tokens.valid_tokens(request.auth.user)))


@tokens_router.post("", response={201: NewToken}, summary="Make a token", auth=_MAKER)
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


@tokens_router.get("/{uuid:token_id}", response=TokenDocument, summary="Read a token")
def read_token(request: ApiRequest, token_id: UUID) -> HttpResponse:
    """Unless it is revoked."""
    return answer(fields_of(TokenDocument, _own_token(request, token_id)))


@tokens_router.post("/{uuid:token_id}/rotate", response=NewToken, summary="Replace the secret of a token", auth=_MAKER)
def rotate_token(request: ApiRequest, token_id: UUID) -> HttpResponse:
    """Of one that this token has made. The one before is refused from now on; label, rights and end stay."""
    if (rotated := tokens.rotate(request.auth, _own_token(request, token_id).id)) is None:
        raise conflict("This token has not made it. Use the one that has, or make another.")
    return secret_answer(fields_of(TokenDocument, rotated[0]) | {"token": rotated[1]})


@tokens_router.delete("/{uuid:token_id}", response={204: None}, summary="Revoke a token")
def revoke_token(request: ApiRequest, token_id: UUID) -> None:
    """At once, and for good, with those that it has made. A token may revoke itself."""
    if not tokens.revoke(request.auth.user, token_id):
        raise Http404


def _own_token(request: ApiRequest, token_id: UUID) -> ApiToken:
    return get_object_or_404(ApiToken, user=request.auth.user, id=token_id, revoked_at=None)
