"""Subscriptions of the caller, and the topics that they can subscribe to."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import Body, Instant
from api.protocol.problems import require_valid
from events.models import Subscription, Topic
from events.topics import subscriptions
from events.topics.subscriptions import ChannelsForm

router = Router(tags=["subscriptions"], auth=Bearer("events"))

_CHANNEL = "01890a5d-ac96-774b-bcce-b302099a8057"
_OPEN: dict[str, Any] = {
    "id": "01890a5b-1f0e-7d52-b8f4-2a6d0c9e7b13",
    "name": "News",
    "description": "What is new in the club.",
    "by": "Ada",
}
_EXAMPLE: dict[str, Any] = {
    "id": "01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f",
    "topic": _OPEN,
    "channels": [_CHANNEL],
    "joined": "2026-03-29T16:00:00Z",
}


class OpenTopic(BaseModel):
    """`by` is its owner's name, which may be empty."""

    model_config = ConfigDict(json_schema_extra={"examples": [_OPEN]})

    id: UUID
    name: str
    description: str
    by: str


class SubscriptionBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"channels": [_CHANNEL]}]})

    channels: list[str] = Field(description="Ids of your channels; none means all that work, less queues.")


class SubscriptionDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: UUID
    topic: OpenTopic
    channels: list[UUID] = Field(description="Empty: all that work, less queues.")
    joined: Instant


@router.get("", response=paging.Page[SubscriptionDocument], summary="List your subscriptions")
def list_subscriptions(
    request: ApiRequest, cursor: str | None = None, limit: paging.Limit = paging.SIZE
) -> HttpResponse:
    """Newest first, with those to which somebody else has added you."""
    found = Subscription.objects.for_user(request.auth.user).current().select_related("topic__user")
    return paging.answer_page(found, request, cursor, limit, document)


@router.get("/topics", response=paging.Page[OpenTopic], summary="List topics to subscribe to")
def list_open_topics(request: ApiRequest, cursor: str | None = None, limit: paging.Limit = paging.SIZE) -> HttpResponse:
    """Newest first: open ones, your own, and those to which you were added."""
    found = Topic.objects.to_join(request.auth.user).select_related("user")
    return paging.answer_page(found, request, cursor, limit, _topic)


@router.put("/{uuid:topic_id}", response=SubscriptionDocument, summary="Subscribe to a topic")
def subscribe(request: ApiRequest, topic_id: UUID, body: SubscriptionBody) -> HttpResponse:
    """To one of `GET /subscriptions/topics`, or choose other channels for it. You get what is published from now on."""
    user = request.auth.user
    topic = get_object_or_404(Topic.objects.to_join(user).select_related("user"), id=topic_id)
    form = ChannelsForm({"channels": body.channels}, user)
    require_valid(form)
    return answer(document(subscriptions.join(user, topic, form.chosen)))


@router.delete("/{uuid:topic_id}", response={204: None}, summary="Unsubscribe from a topic")
def unsubscribe(request: ApiRequest, topic_id: UUID) -> HttpResponse:
    """Cancels what has not been sent yet. Its owner cannot add you again; you can subscribe again."""
    own = get_object_or_404(Subscription.objects.for_user(request.auth.user), topic=topic_id)
    subscriptions.leave(own.id)
    return HttpResponse(status=204)


def document(subscription: Subscription) -> dict[str, Any]:
    return fields_of(
        SubscriptionDocument,
        subscription,
        topic=_topic(subscription.topic),
        channels=[str(key) for key in subscription.channel_ids],
        joined=subscription.joined_at,
    )


def _topic(topic: Topic) -> dict[str, Any]:
    return fields_of(OpenTopic, topic, by=topic.user.name)
