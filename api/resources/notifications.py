"""Notifications: messages, and what became of them; list, read, cancel, acknowledge and snooze."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import Body, Instant, Search, one_of
from api.protocol.problems import conflict
from common.database.paging import LAST_ID, Span
from jobs.batches.withdrawal import come_back, leave
from notifications.deliveries import acknowledge, withdrawal
from notifications.deliveries.history import Period, candidates, with_delivery
from notifications.models import Channel, Delivery, Notification
from people.models import User
from work.reasons import FORMER, sentence

router = Router(tags=["notifications"], auth=Bearer("notifications"))


class ReasonDocument(BaseModel):
    """All are empty where nothing needs a reason."""

    code: str = Field(description="For programs: a code that stays the same.")
    params: dict[str, Any] = Field(description="For programs: the values in the sentence.")
    text: str


def reason(code: str, params: Any) -> dict[str, Any]:
    return {
        "code": FORMER.get(code, code),
        "params": params if isinstance(params, dict) else {},
        "text": sentence(code, params),
    }


def reason_of(row: Any) -> dict[str, Any]:
    return reason(row.reason_code, row.reason_params)


class AttemptDocument(BaseModel):
    """One try."""

    number: int = Field(description="Counts from 1, from the last replay.")
    replay: int = Field(description="How often the delivery had been replayed by then.")
    started_at: Instant = Field(description="When a worker began with it.")
    ended_at: Instant | None = of("finished_at", "When its outcome was known; null while it is under way.")
    outcome: Annotated[str, one_of(dict(Delivery.words.outcomes))] = Field(
        description="Empty while it is under way. `released`: given back before it began."
    )
    reason: ReasonDocument = of(reason_of)


class DeliveryDocument(BaseModel):
    id: UUID = Field(description="The idempotency key, which the receiver gets.")
    notification_id: UUID
    channel_id: UUID
    channel_label: str = of("channel.label")
    kind: str = of("provider")
    state: Annotated[str, one_of(Delivery.State.values)] = Field(
        description="`unknown`: nobody knows whether it arrived. `dead` and `unknown` are dead letters."
    )
    reason: ReasonDocument = of(reason_of)
    cause: str = Field(description="The group of a dead letter; empty for others.")
    tries: int
    replays: int
    available_at: Instant = Field(description="Not sent before this.")
    expires_at: Instant | None = Field(description="Not sent after this; null: without such a limit.")
    settled_at: Instant | None = Field(description="When it reached its end; null while it is open.")


class DeliveryWithAttempts(DeliveryDocument):
    # They must be prefetched, as `history`.
    attempts: list[AttemptDocument] = of(lambda one: documents(AttemptDocument, one.history.all()), "The oldest first.")


class Length(BaseModel):
    """The length of the text on a channel."""

    channel_id: UUID
    length: int = Field(description="As the service counts it.")
    limit: int | None = Field(description="The longest that it takes; null without a limit.")
    unit: str = Field(description="What is counted: characters or bytes.")
    cut: bool = Field(description="Whether the text does not fit, and is cut.")


Origin = Literal["schedule", "test", "code", "notice", "api", "event", "topic", "announcement", "team", "status"]


class NotificationBase(BaseModel):
    id: UUID
    batch_id: UUID
    origin: Origin = Field(
        description="What it comes from. `api`: this API; `event`: a rule; `test` and `code`: of a channel; "
        "`team`: what a team of yours got; `status`: a change, sent to a status webhook."
    )
    schedule_id: UUID | None = of(
        lambda one: one.origin_id if one.origin == Notification.Origin.SCHEDULE else None,
        "Of your own schedule; null for announcements.",
    )
    slot_at: Instant | None = of("slot", "The instant for which the schedule was due; null without one.")
    early: int | None = Field(description="Minutes before `slot_at`, of a message that says what comes; else null.")
    title: str = of("subject", "The subject, as it was sent.")
    body: str = Field(description="The text, as it was sent.")
    urgent: bool
    category: str
    data: Any
    outcome: Annotated[str, one_of(Notification.Outcome.values)] = Field(
        description="`open` while a delivery is; `full`, `partial` and `failed` say how many have arrived."
    )
    acknowledged_at: Instant | None
    acknowledged_by: str = Field(description="Of a team: the name of the member who did. Empty otherwise.")
    snooze_ends_at: Instant | None = of("snoozed_until", "When the same is sent again, if it was snoozed.")
    nag_at: Instant | None = Field(description="When it is sent again unless it is acknowledged; null if it is not.")
    nagged: int = Field(description="How often it was sent again; of such a message, its number.")
    nag_of_id: UUID | None = of("nag_of", "The id of the notification that it repeats; null if it repeats none.")
    created_at: Instant


class NotificationDocument(NotificationBase):
    # They must be prefetched with their channels.
    deliveries: list[DeliveryDocument] = of(lambda one: documents(DeliveryDocument, one.ordered_deliveries()))


class NotificationWithAttempts(NotificationBase):
    deliveries: list[DeliveryWithAttempts] = of(lambda one: documents(DeliveryWithAttempts, one.ordered_deliveries()))


class Snooze(Body):
    snooze_ends_at: Instant = Field(description="When the same is sent again, within a year.")


def with_deliveries(notifications: QuerySet[Notification], *also: str) -> QuerySet[Notification]:
    deliveries = Delivery.objects.select_related("channel").prefetch_related(*also).order_by("channel_id")
    return notifications.prefetch_related(Prefetch("deliveries", deliveries))


@router.get("", response=paging.Page[NotificationDocument], summary="List notifications")
def list_notifications(
    request: ApiRequest,
    outcome: Literal["open", "full", "partial", "failed", "dropped"] | None = None,
    state: Literal["pending", "sending", "delivered", "dead", "unknown", "cancelled", "expired"] | None = None,
    channel_id: UUID | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    tests: bool | None = None,
    schedule_id: UUID | None = None,
    origin: Origin | None = None,
    search: Search | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """Newest first, with the state of each delivery. Reading one shows its attempts too.

    `state` and `channel_id` keep those with a delivery in this state, on this channel of yours, removed or not. `until`
    is not included. `tests` keeps the codes and tests of channels, or leaves them out. What is sent to status webhooks
    is left out unless `origin` or `channel_id` asks for it. With `origin` or `search` (in the title), a page may be
    short and have a `next`.
    """
    period = Period(since, until)
    among = period.of(Notification.objects.for_user(request.auth.user))
    without = [Notification.Origin.STATUS] if origin is None and channel_id is None else []
    without += Notification.OF_CHANNELS if tests is False else ()
    conditions: dict[str, Any] = {
        "origin": origin,
        "outcome": outcome,
        "origin_id": schedule_id,
        "origin__in": Notification.OF_CHANNELS if tests else (),
        "subject__icontains": search,
    }
    given = {name: value for name, value in conditions.items() if value}
    rows = among.exclude(origin__in=without).filter(**given)
    if state is not None or channel_id is not None:
        mine = paging.narrowed(Channel.objects.filter(user=request.auth.user), id=channel_id)  # also removed ones
        channels = list(mine.values_list("id", flat=True))
        states = [state] if state else Delivery.State.values
        if given:
            rows = with_delivery(rows, channels, states)
        else:
            below = UUID(paging.read(page.cursor, request)) if page.cursor else LAST_ID
            span = Span(page.limit + 1, below=below)
            rows = rows.filter(id__in=candidates(channels, states, period, span, without))
    is_searched = given.keys() & {"origin", "subject__icontains"}
    return paging.answer_page(
        with_deliveries(rows), request, page, NotificationDocument, among=among if is_searched else None
    )


@router.get("/{uuid:notification_id}", response=NotificationWithAttempts, summary="Read a notification")
def read_notification(request: ApiRequest, notification_id: UUID) -> HttpResponse:
    """With each delivery and each attempt, and why it failed or waits."""
    return answer(fields_of(NotificationWithAttempts, _read(request, notification_id)))


@router.post("/{uuid:notification_id}/cancel", response=NotificationWithAttempts, summary="Cancel a notification")
def cancel_notification(request: ApiRequest, notification_id: UUID) -> HttpResponse:
    """Cancels messages that have not gone out. One that is being sent may arrive; it gets no further try."""
    withdrawal.cancel(Notification.objects.for_user(request.auth.user).filter(id=notification_id))
    return answer(fields_of(NotificationWithAttempts, _read(request, notification_id)))


@router.post(
    "/{uuid:notification_id}/acknowledge", response=NotificationWithAttempts, summary="Acknowledge a notification"
)
def acknowledge_notification(request: ApiRequest, notification_id: UUID) -> HttpResponse:
    """No other channel is tried, and it is read in the inbox. Of a reminder or a rule."""
    own = _answerable(request, notification_id)
    return _answered(request, own, acknowledge.acknowledge(own.id, by=_member(request)))


@router.post("/{uuid:notification_id}/snooze", response=NotificationWithAttempts, summary="Snooze a notification")
def snooze_notification(request: ApiRequest, notification_id: UUID, body: Snooze) -> HttpResponse:
    """Acknowledges it, and sends the same again at that time, also in quiet hours."""
    own = _answerable(request, notification_id)
    return _answered(request, own, acknowledge.snooze(own.id, body.snooze_ends_at, by=_member(request)))


@router.post(
    "/{uuid:notification_id}/stop-announcements", response={204: None}, summary="Stop the announcements of a sender"
)
def stop_announcements(request: ApiRequest, notification_id: UUID) -> None:
    """Of which this is one. Waiting messages are cancelled; nothing more comes."""
    leave(*_announced(request, notification_id))


@router.post(
    "/{uuid:notification_id}/resume-announcements", response={204: None}, summary="Get announcements of a sender again"
)
def resume_announcements(request: ApiRequest, notification_id: UUID) -> None:
    """From the next one on."""
    come_back(*_announced(request, notification_id))


def _announced(request: ApiRequest, notification_id: UUID) -> tuple[int, UUID]:
    """Its recipient, and the schedule or topic that announces."""
    own = Notification.objects.own(request.auth.user, id=notification_id)
    if own.origin != Notification.Origin.ANNOUNCEMENT or own.origin_id is None:
        raise conflict("This is not an announcement.")
    return own.user_id, own.origin_id


def _answerable(request: ApiRequest, notification_id: UUID) -> Notification:
    own = Notification.objects.own(request.auth.user, id=notification_id)
    if not own.is_answerable:
        raise conflict("Only what a reminder or a rule has sent can be answered.")
    return own


def _member(request: ApiRequest) -> User | None:
    """The member who answers for a team."""
    account = request.auth.user
    return account.actor if account.is_team else None


def _answered(request: ApiRequest, own: Notification, is_first: bool) -> HttpResponse:
    if not is_first:
        raise conflict("It was answered before. Nothing changed.")
    return answer(fields_of(NotificationWithAttempts, _read(request, own.id)))


def _read(request: ApiRequest, notification_id: UUID) -> Notification:
    mine = Notification.objects.for_user(request.auth.user)
    return get_object_or_404(with_deliveries(mine, "history"), id=notification_id)
