"""The inbox: messages that were delivered to the account's own page. `POST /notifications/{id}/…` answers them."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of, of
from api.protocol.fields import Instant, Search
from api.resources.notifications import Origin
from notifications.models import Delivery

router = Router(tags=["inbox"], auth=Bearer("notifications"))


class InboxMessage(BaseModel):
    id: UUID = Field(description="The id of the delivery.")
    notification_id: UUID = Field(description="The message, with what other channels did with it.")
    origin: Origin = of("notification.origin", "What sent it, as in `GET /notifications`.")
    title: str = of("notification.subject", "The subject.")
    body: str = of("notification.body", "The text; may be empty.")
    urgent: bool = of("notification.urgent", "Whether it did not wait for the end of quiet hours.")
    category: str = of("notification.category", "The category of its schedule or sender; may be empty.")
    answerable: bool = of(
        lambda one: one.notification.is_answerable and one.notification.acknowledged_at is None,
        "Whether `acknowledge` and `snooze` of the notification take it.",
    )
    arrived_at: Instant = of("settled_at", "When it was delivered.")
    read_at: Instant | None = Field(description="When it was marked as read; null: unread.")
    archived_at: Instant | None = Field(description="When it was taken out of the list; null: it is in it.")
    acknowledged_at: Instant | None = of("notification.acknowledged_at", "When it was acknowledged or snoozed.")
    snooze_ends_at: Instant | None = of("notification.snoozed_until", "When it comes again.")


class MarkedRead(BaseModel):
    count: int = Field(description="How many were unread.")


@router.get("", response=paging.Page[InboxMessage], summary="List the messages of the inbox")
def list_inbox(
    request: ApiRequest,
    unread: bool | None = None,
    archived: bool = False,
    search: Search | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """By arrival, newest first; with `archived`, those that were taken out of the list.

    With `search`, in the title, a page may be short and have a `next`.
    """
    among = Delivery.objects.listed(request.auth.user, archived=archived, unread=unread)
    rows = among.filter(notification__subject__icontains=search) if search else among
    return paging.answer_page(rows, request, page, InboxMessage, by="settled_at", among=among if search else None)


@router.post("/read", response=MarkedRead, summary="Mark all messages as read")
def read_all_messages(request: ApiRequest) -> HttpResponse:
    """All that are in the inbox now."""
    return answer({"count": Delivery.objects.inbox(request.auth.user).mark_read(timezone.now())})


@router.get("/{uuid:delivery_id}", response=InboxMessage, summary="Read a message of the inbox")
def read_message(request: ApiRequest, delivery_id: UUID) -> HttpResponse:
    """Does not mark it as read."""
    mine = Delivery.objects.inbox(request.auth.user).select_related("notification")
    return answer(fields_of(InboxMessage, get_object_or_404(mine, id=delivery_id)))


@router.post("/{uuid:delivery_id}/read", response=InboxMessage, summary="Mark a message as read")
def mark_message_read(request: ApiRequest, delivery_id: UUID) -> HttpResponse:
    """Does nothing if it is read already."""
    Delivery.objects.inbox(request.auth.user).filter(id=delivery_id).mark_read(timezone.now())
    return read_message(request, delivery_id)


@router.post("/{uuid:delivery_id}/archive", response=InboxMessage, summary="Archive a message")
def archive_message(request: ApiRequest, delivery_id: UUID) -> HttpResponse:
    """Takes it out of the list, as read. Does nothing if it is archived already."""
    Delivery.objects.inbox(request.auth.user).filter(id=delivery_id).archive(timezone.now())
    return read_message(request, delivery_id)


@router.post("/{uuid:delivery_id}/unarchive", response=InboxMessage, summary="Put an archived message back")
def unarchive_message(request: ApiRequest, delivery_id: UUID) -> HttpResponse:
    """It stays read. Does nothing if it is not archived."""
    Delivery.objects.inbox(request.auth.user).filter(id=delivery_id).put_back()
    return read_message(request, delivery_id)
