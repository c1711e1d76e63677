"""The feed of changes: what happened to deliveries, notifications, schedules and channels, with nothing missed."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, of
from api.protocol.fields import Instant, one_of
from api.protocol.problems import CONTENT_TYPE, FieldError, Problem, invalid
from notifications.changes import feed
from notifications.changes.feed import Position
from notifications.messages import change_types
from notifications.models.change import KEPT_DAYS

router = Router(tags=["changes"], auth=Bearer("read"))

# A cursor ends an hour before the changes behind it are pruned.
_VALID = timedelta(days=KEPT_DAYS, hours=-1)
_GONE = {
    "description": "The cursor is too old: changes behind it are no longer stored",
    "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


class ChangeDocument(BaseModel):
    """`data` holds ids and codes: read what they name for the rest. Two changes may have the same time."""

    id: UUID
    type: Annotated[str, one_of(change_types.ALL)] = Field(description="The noun and what happened to it.")
    occurred_at: Instant = of("at", "When it happened. It may go back from one change to the next.")
    data: dict[str, Any] = Field(description="Ids and codes of what changed.")


class Changes(BaseModel):
    """A page of the feed. Ask again with `next`."""

    items: list[ChangeDocument] = Field(description="The oldest first.")
    next: str = Field(description="The `cursor` to go on with, also where there is nothing new.")
    more: bool = Field(description="Whether there is more behind `next` already.")


@router.get("", response=Changes, summary="Follow what changes", openapi_extra={"responses": {410: _GONE}})
def list_changes(
    request: ApiRequest,
    cursor: Annotated[str | None, Query(description="`next` of the last answer; the oldest change without it.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    types: Annotated[
        str | None, Query(description="Types with commas between them: `delivery.*,schedule.fired`.", max_length=1_000)
    ] = None,
) -> HttpResponse:
    """The oldest first, as committed. Recorded while you have a token or a status webhook, and kept for 7 days."""
    position = _position(request, cursor) if cursor else feed.START
    try:
        page = feed.read(request.auth.user_id, position, limit, _types(types))
    except feed.Foreign:
        raise _gone() from None
    now, last = int(datetime.now(UTC).timestamp()), page.position
    following = paging.make(request, f"{last.xact} {last.change_id.hex} {now}")
    items = documents(ChangeDocument, page.changes)
    return paging.link(answer({"items": items, "next": following, "more": page.more}), request, following)


def _types(types: str | None) -> list[str] | None:
    if types is None:
        return None
    try:
        return change_types.parse(types)
    except change_types.UnknownType as error:
        raise invalid(FieldError("query.types", str(error), "unknown_type")) from None


def _position(request: ApiRequest, cursor: str) -> Position:
    xact, change_id, given = paging.read(cursor, request).split()
    if datetime.now(UTC) - datetime.fromtimestamp(int(given), UTC) > _VALID:
        raise _gone()
    return Position(int(xact), UUID(change_id))


def _gone() -> Problem:
    return Problem(
        410,
        "cursor-expired",
        "This cursor is too old: changes behind it are no longer stored.",
        "Read the lists of what you follow afresh, then start here again without a cursor.",
    )
