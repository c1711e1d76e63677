"""Topics of the caller, whom they have added; subscriptions of the caller, and what they can subscribe to."""

from contextlib import AbstractContextManager
from typing import Annotated
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import FormBody, Instant, Partial, Replacement, Texts, one_of, shows
from api.protocol.problems import FieldError, invalid, require_unchanged, require_valid
from common.database import postgres
from common.forms import edit_form
from events.models import Event, Subscription, Topic
from events.topics import changes, subscriptions
from events.topics.changes import COUNTED, AddressForm, TopicForm
from events.topics.subscriptions import ChannelsForm
from people.models import User

router = Router(tags=["topics"], auth=Bearer("events"))
subscriptions_router = Router(tags=["subscriptions"], auth=Bearer("events"))


class TopicBody(FormBody):
    name: str = Field(description="A name for people, of at most 80 characters.")
    slug: str = Field(description="Letters, digits, “-” and “_”: the `topic` of events. It cannot be changed.")
    description: str = Field("", description="What it is about, in at most 500 characters.")
    title: str = Field("{data.title}", description="Of each message, with `{data.…}`, `{type}`, `{source}`, `{time}`.")
    body: str = Field("{data.body}", description="Likewise; at most 10,000 characters.")
    is_open: bool = Field(False, description="Whether anybody with an account may subscribe.")


class TopicPatch(Partial, Replacement):
    """Fields that are not given stay as they are."""

    name: str
    description: str
    title: str
    body: str
    is_open: bool


@shows(TopicBody)
class TopicDocument(BaseModel):
    id: UUID
    subscribers: int = Field(description=f"Counted up to {COUNTED:,}; one more than that means more.")
    version: int
    created_at: Instant


class TopicEvent(BaseModel):
    """The progress of an event of the topic."""

    id: str = of("key")
    type: str
    state: Annotated[str, one_of(Event.words.states)] = Field(description="Of the event.")
    audience: int | None = of("batch.size", "How many were subscribed; null until telling them begins.")
    told: int = of(lambda event: event.batch.told if event.batch else 0, "How many of these have been dealt with.")
    received_at: Instant = of("created_at")


class AddressBody(FormBody):
    address: str = Field(description="The email address with which somebody signs in.")


class Added(BaseModel):
    """An address that you have added. Whether an account has it, and whether that has left, is not shown."""

    id: UUID
    address: str = Field(description="The email address.")


@router.get("", response=paging.Page[TopicDocument], summary="List your topics")
def list_topics(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first."""
    return paging.answer_page(_own(request), request, page, TopicDocument)


@router.post("", response={201: TopicDocument}, summary="Make a topic")
def create_topic(request: ApiRequest, body: TopicBody) -> HttpResponse:
    """Then publish events with its slug as their `topic`."""
    topic = make(request.auth.user, body)
    return versions.show(TopicDocument, _find(request, topic.slug), 201, Location=f"{request.path}/{topic.slug}")


def make(user: User, body: TopicBody) -> Topic:
    """Raises NotPossible and a 422 problem."""
    form = TopicForm(body.model_dump(), user)
    require_valid(body, form)
    return changes.create(form)


@router.get("/{slug:slug}", response=TopicDocument, summary="Read a topic")
def read_topic(request: ApiRequest, slug: str) -> HttpResponse:
    """With how many are subscribed. `ETag` is its version: send it as `If-Match` with a change."""
    return versions.show(TopicDocument, _find(request, slug))


@router.patch("/{slug:slug}", response=TopicDocument, summary="Change a topic")
def change_topic(request: ApiRequest, slug: str, body: TopicPatch) -> HttpResponse:
    """Fields that are not given stay as they are. Events that are being sent may have the earlier texts."""
    with _changing(request, slug) as topic:
        require_unchanged(body, TopicDocument, topic)
        stored = {name: getattr(topic, name) for name in TopicPatch.model_fields}
        form = TopicForm(stored | body.model_dump(exclude_unset=True), request.auth.user, topic)
        require_valid(body, form)
        return versions.show(TopicDocument, edit_form.save(form))


@router.delete("/{slug:slug}", response={204: None}, summary="Delete a topic")
def delete_topic(request: ApiRequest, slug: str) -> None:
    """With its subscriptions. Messages that were recorded are still sent."""
    with _changing(request, slug) as topic:
        postgres.delete(topic)


@router.get("/{slug:slug}/events", response=paging.Page[TopicEvent], summary="List the events of a topic")
def list_topic_events(request: ApiRequest, slug: str, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first, with the number of subscribers whom each has reached."""
    result = _find(request, slug).events.select_related("batch").defer("data", "batch__message", "batch__job_payload")
    return paging.answer_page(result, request, page, TopicEvent)


@router.get(
    "/{slug:slug}/subscriptions",
    response=paging.Page[Added],
    summary="List whom you have added",
    tags=["subscriptions"],
)
def list_added(request: ApiRequest, slug: str, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first. Who subscribed by themselves is not among them."""
    result = Subscription.objects.filter(topic=_find(request, slug)).exclude(address="")
    return paging.answer_page(result, request, page, Added)


@router.post(
    "/{slug:slug}/subscriptions", response={202: Added}, summary="Add somebody to a topic", tags=["subscriptions"]
)
def add_person(request: ApiRequest, slug: str, body: AddressBody) -> HttpResponse:
    """If an account has this address, it is subscribed on its inbox and notified there once. The answer is the same if
    none has. Who has unsubscribed is not subscribed again."""
    topic = _find(request, slug)
    form = AddressForm({"address": body.address})
    require_valid(body, form)
    try:
        subscription = subscriptions.add(topic, form.cleaned_data["address"])
    except subscriptions.TopicFull as refusal:
        raise invalid(FieldError("address", str(refusal), "refused")) from None
    return answer(fields_of(Added, subscription), 202)


@router.delete(
    "/{slug:slug}/subscriptions/{uuid:subscription_id}",
    response={204: None},
    summary="Remove somebody",
    tags=["subscriptions"],
)
def remove_person(request: ApiRequest, slug: str, subscription_id: UUID) -> None:
    """Somebody whom you have added. Unsent messages to them are cancelled."""
    if not subscriptions.remove(_find(request, slug), subscription_id):
        raise Http404


def _own(request: ApiRequest) -> QuerySet[Topic]:
    return changes.with_subscribers(Topic.objects.for_user(request.auth.user))


def _find(request: ApiRequest, slug: str) -> Topic:
    return get_object_or_404(_own(request), slug=slug)


def _changing(request: ApiRequest, slug: str) -> AbstractContextManager[Topic]:
    return versions.locked(request, _own(request), TopicDocument, slug=slug)


class OpenTopic(BaseModel):
    """A topic to which you may subscribe."""

    id: UUID
    name: str
    description: str = Field(description="What it is about.")
    by: str = of("user.name", "Its owner's name, which may be empty.")


class SubscriptionBody(FormBody):
    channel_ids: Texts = Field(description="Ids of your channels; none means all that work, less queues.")


class SubscriptionReplacement(SubscriptionBody, Replacement):
    """Also as the list shows it: what cannot be changed here may be sent as it is."""


class SubscriptionDocument(BaseModel):
    id: UUID
    topic: OpenTopic = of(lambda one: fields_of(OpenTopic, one.topic), "What you subscribe to.")
    channel_ids: list[UUID] = Field(description="Empty: all that work, less queues.")
    joined_at: Instant = Field(description="When you subscribed, or were added.")


@subscriptions_router.get("", response=paging.Page[SubscriptionDocument], summary="List your subscriptions")
def list_subscriptions(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first, with those to which somebody else has added you."""
    result = Subscription.objects.for_user(request.auth.user).current().select_related("topic__user")
    return paging.answer_page(result, request, page, SubscriptionDocument)


@subscriptions_router.get("/topics", response=paging.Page[OpenTopic], summary="List topics to subscribe to")
def list_open_topics(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first: open ones, your own, and those to which you were added."""
    return paging.answer_page(Topic.objects.to_join(request.auth.user).select_related("user"), request, page, OpenTopic)


@subscriptions_router.put("/{uuid:topic_id}", response=SubscriptionDocument, summary="Subscribe to a topic")
def subscribe(request: ApiRequest, topic_id: UUID, body: SubscriptionReplacement) -> HttpResponse:
    """To one of `GET /subscriptions/topics`, or choose other channels for it. You get what is published from now on."""
    user = request.auth.user
    topic = get_object_or_404(Topic.objects.to_join(user).select_related("user"), id=topic_id)
    own = Subscription.objects.for_user(user).current().filter(topic=topic).select_related("topic__user")
    require_unchanged(body, lambda rows: next(iter(documents(SubscriptionDocument, rows)), {}), own)
    form = ChannelsForm({"channels": body.channel_ids}, user)
    require_valid(body, form)
    return answer(fields_of(SubscriptionDocument, subscriptions.join(user, topic, form.chosen)))


@subscriptions_router.delete("/{uuid:topic_id}", response={204: None}, summary="Unsubscribe from a topic")
def unsubscribe(request: ApiRequest, topic_id: UUID) -> None:
    """Cancels what has not been sent yet. Its owner cannot add you again; you can subscribe again."""
    subscriptions.leave(Subscription.objects.own(request.auth.user, topic=topic_id).id)
