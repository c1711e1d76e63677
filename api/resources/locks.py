"""Locks: a program takes one by its name, renews it and releases it."""

from typing import Annotated

from django.db.models.functions import Now
from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, secret_answer
from api.protocol.fields import Body, Instant, valid
from api.protocol.problems import Problem, conflict
from common.texts.written import check_line
from locks import leases
from locks.leases import Lease
from locks.models import Lock

router = Router(tags=["locks"], auth=Bearer("locks"))


class Named(Body):
    name: Annotated[str, Field(min_length=1, max_length=100), valid(check_line)] = Field(
        description="One of your own, such as `backup`.", json_schema_extra={"pattern": r"\S"}
    )


class Acquire(Named):
    ttl: int = Field(
        30, ge=leases.SHORTEST, le=leases.LONGEST, description="Seconds after which it is free, unless it is renewed."
    )
    holder: Annotated[str, Field(max_length=100), valid(lambda text: text and check_line(text))] = Field(
        "", description="Who takes it, for those who wait; empty: the token’s label."
    )


class Release(Named):
    token: str = Field(max_length=200, description="As `acquire` gave it.")


class Renew(Release):
    ttl: int = Field(30, ge=leases.SHORTEST, le=leases.LONGEST, description="Seconds, counted from now.")


class Acquired(BaseModel):
    acquired: bool = Field(description="Whether you have the lock.")
    token: str | None = Field(default=None, description="Renews and releases it. No other answer has it.")
    fence: int | None = Field(
        default=None,
        description="Higher than that of every earlier lease. The protected resource should refuse a lower one.",
    )
    ttl: int | None = Field(default=None, description="Seconds for which it is yours.")
    wait_ms: int | None = Field(
        default=None, description="After so many milliseconds it is free, unless it is renewed."
    )
    holder: str | None = Field(default=None, description="Who has it.")


class Renewed(BaseModel):
    fence: int = Field(description="As before.")
    ttl: int = Field(description="Seconds for which it is yours, from now.")


class LockDocument(BaseModel):
    name: str = Field(description="Its name.")
    holder: str = Field(description="Who has it.")
    fence: int = Field(description="The number of this lease.")
    acquired_at: Instant = Field(description="Since when.")
    expires_at: Instant = Field(description="Until when, unless it is renewed.")


@router.get("", response=paging.Page[LockDocument], summary="List the locks that are held")
def list_locks(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """The newest names first. A lock whose time is over is free, and not listed."""
    locks = Lock.objects.for_user(request.auth.user).filter(expires_at__gt=Now())
    return paging.answer_page(locks, request, page, LockDocument)


@router.post("/acquire", response=Acquired, summary="Take a lock")
def acquire_lock(request: ApiRequest, body: Acquire) -> HttpResponse:
    """A free lock is yours for `ttl` seconds, counted from before you asked. Else the answer says who has it, and for
    how long. With `Idempotency-Key`, a repeated request gets the same answer."""
    taken = leases.acquire(request.auth.user, body.name, body.ttl, body.holder or request.auth.label)
    if isinstance(taken, Lease):
        return secret_answer(Acquired(acquired=True, token=taken.token, fence=taken.fence, ttl=body.ttl).model_dump())
    return answer(Acquired(acquired=False, wait_ms=taken.wait_ms, holder=taken.holder).model_dump())


@router.post("/renew", response=Renewed, summary="Renew a lock")
def renew_lock(request: ApiRequest, body: Renew) -> HttpResponse:
    """Refused (409) where the token does not hold it any more: then stop what you do under it. `Idempotency-Key` is
    ignored."""
    fence = leases.renew(request.auth.user, body.name, body.token, body.ttl)
    if fence is None:
        raise _not_locked()
    return answer({"fence": fence, "ttl": body.ttl})


@router.post("/release", response={204: None}, summary="Release a lock")
def release_lock(request: ApiRequest, body: Release) -> None:
    """Others may take it at once. Refused (409) where the token does not hold it any more. `Idempotency-Key` is
    ignored."""
    if not leases.release(request.auth.user, body.name, body.token):
        raise _not_locked()


def _not_locked() -> Problem:
    return conflict(
        "This token does not hold this lock: its time is over, it was released, or it is the token of another one. "
        "Acquire it again, and do not go on with what needed it."
    )
