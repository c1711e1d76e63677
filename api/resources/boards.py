"""Boards: programs read what stands on one, and write. Its page and its members see it at once."""

from typing import Annotated
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import FormBody, Instant
from api.protocol.problems import require_valid
from notifications.deliveries import boards
from notifications.deliveries.boards import MessageForm
from notifications.providers.board import MOST_CHARACTERS

router = Router(tags=["boards"], auth=Bearer("notifications"))


class BoardMessageBody(FormBody):
    text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)] = Field(
        description="Plain text, in several lines if you want.", json_schema_extra={"pattern": r"\S"}
    )


class BoardMessageDocument(BaseModel):
    id: int = Field(description="Greater than that of each earlier message.")
    text: str
    author: str = Field(description="Of a person or a program; empty: a delivery, or the inbound address.")
    notification_id: UUID | None = Field(description="What a delivery has brought; null: it was written.")
    acknowledged_at: Instant | None = of("notification.acknowledged_at", "When that was acknowledged or snoozed.")
    acknowledged_by: str = of(
        lambda one: one.notification.acknowledged_by if one.notification else "",
        "The name of the member who did; may be empty.",
    )
    created_at: Instant


@router.get(
    "/{uuid:board_id}/messages", response=paging.Page[BoardMessageDocument], summary="List the messages of a board"
)
def list_board_messages(
    request: ApiRequest,
    board_id: UUID,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="Only those with a greater id.")] = 0,
) -> HttpResponse:
    """The newest 50, the oldest first, on one page. The `id` of the channel is that of the board."""
    board = get_object_or_404(boards.of_account(request.auth.user), id=board_id)
    return paging.answer_all(documents(BoardMessageDocument, reversed(boards.messages(board, after))))


@router.post("/{uuid:board_id}/messages", response={201: BoardMessageDocument}, summary="Write on a board")
def write_on_board(request: ApiRequest, board_id: UUID, body: BoardMessageBody) -> HttpResponse:
    """Its author is the label of the token. Only the newest 50 messages stay."""
    board = get_object_or_404(boards.of_account(request.auth.user), id=board_id)
    form = MessageForm({"text": body.text})
    require_valid(body, form)
    if (written := boards.post(board.id, form.cleaned_data["text"], request.auth.label)) is None:
        raise Http404  # it was removed meanwhile
    return answer(fields_of(BoardMessageDocument, written), 201)
