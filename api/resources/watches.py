"""Watches, which notify if a ping does not come: list, create, read, change, pause, resume, delete, restore."""

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of, of
from api.protocol.fields import Body, FormBody, Instant, Partial, Replacement, Search, Texts, limited, one_of, shows
from api.protocol.problems import FieldError, require_unchanged, require_valid
from api.resources.schedules import timing
from api.resources.schedules.timing import Timing, TimingDocument, Typed
from notifications.inputs.channels_form import form_values
from notifications.models import Channel
from people.models import User
from people.user_lock import lock_user
from schedules.firing.fire import read_clock
from watches import changes
from watches.changes import TYPED
from watches.inputs import WatchForm
from watches.models import Ping, Watch
from watches.timing import when

router = Router(tags=["watches"], auth=Bearer("schedules"))


Words = Annotated[Texts, Field(json_schema_extra={"maxItems": 10, "items": {"type": "string", "maxLength": 60}})]


class PingDocument(BaseModel):
    """One of the last 100 pings."""

    number: int = Field(description="Counted from 1.")
    kind: Annotated[str, one_of(Ping.Kind.values)] = Field(description="What it reported.")
    pinged_at: Instant = of("at", "When it came.")
    rid: str = Field(description="What tells runs apart that overlap; empty for none.")
    exit_code: int | None = Field(description="As its address said; null where it said none.")
    seconds: float | None = Field(description="How long the run took that it ended, if it had a start.")
    output: str = Field(description="At most the first 100,000 bytes of what was posted, as text.")
    size: int = Field(description="The bytes of all that was posted.")


class WatchBody(FormBody):
    model_config = limited(WatchForm)

    name: str = Field(description="A name for people.", json_schema_extra={"minLength": 1})
    description: str = Field("", description="What to do if it fails. Messages repeat it.")
    tags: Texts = Field([], description="At most 10 words of yours, each of up to 30 characters.", examples=[["db"]])
    period: int | None = Field(None, description="Seconds after the last ping; exactly one of this and `timing`.")
    timing: Timing | None = Field(None, description="When a ping is expected, as a schedule has it, but not `once`.")
    time_zone: str | None = Field(None, description="An IANA name; without one, your own time zone.")
    starts_at: str | None = None
    ends_at: str | None = None
    excluded: Texts = Field([], description="Dates on which nothing is expected.", examples=[["2026-12-25"]])
    grace: int = Field(3600, description="How many seconds later a ping may come.")
    longest_run: int | None = Field(None, description="Notify if a run takes longer, in seconds.")
    slug: str = Field(
        "",
        description="For `slug_url`; another one than your other watches have.",
        json_schema_extra={"pattern": "^[a-z0-9_-]*$"},
    )
    lock: str = Field("", description="The name of a lock that a run holds until it ends, for `longest_run` at most.")
    success_words: Words = Field([], description="Output that has none of these makes a success a failure.")
    failure_words: Words = Field([], description="Output that has one of these makes a success a failure.")
    ignore_words: Words = Field([], description="Output that has one of these reports nothing but the end of its run.")
    channel_ids: Texts = Field(description="Ids of your channels.", json_schema_extra={"minItems": 1})
    in_order: bool = False
    escalate_after: int | None = None
    nag_every: int | None = None
    nag_times: int | None = None
    nag_channel_ids: Texts = []
    urgent: bool = False
    opens_incident: bool = Field(False, description="Raise an alert instead of a message.")


class WatchReplacement(WatchBody, Replacement):
    """Also as `GET` answers it: what cannot be changed here may be sent as it is."""


class WatchPatch(Partial, WatchReplacement):
    """Fields that are not given stay as they are."""


@shows(WatchBody)
class WatchDocument(BaseModel):
    """`period`, `grace` and `longest_run` are in seconds."""

    id: UUID
    state: Annotated[str, one_of(Watch.State.values)] = Field(
        description="`new` before the first ping; `down` after a miss or a failure, until the next success."
    )
    version: int
    ping_url: str = of("url", "The address to request. Anyone who knows it can ping.")
    slug_url: str = Field(description="The same by your ping key and its slug; empty without a slug.")
    period: int | None = Field(description="A ping is expected so long after the last one; null with a `timing`.")
    timing: TimingDocument | None = Field(description="Or at the slots of a rule; null with a `period`.")
    time_zone: str
    channel_ids: list[UUID]
    nag_channel_ids: list[UUID]
    stays_paused: bool = Field(description="Whether a paused one stays so when a ping comes.")
    expected: str = of(when, "When a ping is expected, in words.")
    expected_at: Instant | None = Field(description="When the next ping is expected; null if none is.")
    deadline_at: Instant | None = of("deadline", "The end of its grace: then it is missed.")
    state_started_at: Instant = of("state_since", "Since when it has this state.")
    last_ping_at: Instant | None = Field(description="When its last ping came; null before the first.")
    ping_count: int = Field(description="All pings so far.")
    created_at: Instant
    updated_at: Instant


class PauseBody(Body):
    until_ping: bool = Field(False, description="Only until its next ping.")


def document(watch: Watch) -> dict[str, Any]:
    return fields_of(
        WatchDocument,
        watch,
        channel_ids=[channel.id for channel in watch.ordered_channels()],
        in_order=bool(watch.channel_order),
        **timing.fields(timing.readable(watch), watch),
    )


def _seen(request: ApiRequest, watch: Watch) -> dict[str, Any]:
    """Without its addresses for a viewer of its team, who could ping it."""
    return document(watch) | ({} if request.auth.user.may_change else {"ping_url": "", "slug_url": ""})


def described(
    body: WatchBody, user: User, watch: Watch | None = None, also: Iterable[UUID] = ()
) -> tuple[Watch, list[Channel]]:
    """The watch, not saved, and its channels: a new one, or what `body` makes of `watch`. Raises a 422 problem.

    `also`: see `offer_channels`.
    """
    given = body.model_fields_set if isinstance(body, WatchPatch) else WatchBody.model_fields.keys()
    fields: dict[str, Any] = {}
    if watch is not None:
        fields = {name: getattr(watch, name) for name in (*TYPED, "version")} | {"in_order": bool(watch.channel_order)}
    fields |= body.model_dump(include=given - {"timing"})
    fields["time_zone"] = fields.get("time_zone") or user.time_zone or "UTC"
    typed = _timing(body, watch, given, fields)
    parameters = None if typed is None else typed.parameters
    form = WatchForm(
        form_values(fields), user=user, now=read_clock().now, watch=watch, parameters=parameters, also=also
    )
    require_valid(body, form, called=partial(timing.called, WatchBody, {} if typed is None else typed.paths))
    return form.as_watch(), form.ordered()


def _timing(body: WatchBody, watch: Watch | None, given: Collection[str], fields: dict[str, Any]) -> Typed | None:
    """The timing, None for a period; `fields` gets its kind."""
    if body.period is not None and body.timing is not None:
        body.refuse(FieldError("timing", "Give a period or a timing, not both.", "one_timing"))
    if body.timing is not None:
        typed = timing.read(body, body.timing, fields["time_zone"])
        fields["period"] = None
    elif body.period is not None or watch is None or "timing" in given:
        fields["kind"] = Watch.SINCE
        return None
    elif watch.period is not None:
        return None
    else:
        typed = timing.stored(body, timing.readable(watch), moves=fields["time_zone"] != watch.time_zone)
    fields |= {"kind": typed.kind, "anchor": typed.parameters.get("anchor")}
    return typed


def _changing(request: ApiRequest, watch_id: UUID) -> AbstractContextManager[Watch]:
    return versions.locked(request, Watch.objects.for_user(request.auth.user), document, id=watch_id)


@router.get("", response=paging.Page[WatchDocument], summary="List watches")
def list_watches(
    request: ApiRequest,
    state: Literal["new", "up", "down", "paused"] | None = None,
    tag: Search | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """Newest first."""
    result = Watch.objects.for_user(request.auth.user).with_channels().select_related("user__ping_key")
    result = paging.narrowed(result, state=state, tags__contains=None if tag is None else [tag])
    return paging.answer_page(result, request, page, partial(_seen, request))


@router.post("", response={201: WatchDocument}, summary="Create a watch")
def create_watch(request: ApiRequest, body: WatchBody) -> HttpResponse:
    """Nothing is expected before its first ping. Send an `Idempotency-Key`, so that a repeat creates one."""
    with lock_user(request.auth.user):
        watch = changes.create(*described(body, request.auth.user))
    return versions.show(document, watch, 201, Location=f"{request.path}/{watch.id}")


@router.get("/{uuid:watch_id}", response=WatchDocument, summary="Read a watch")
def read_watch(request: ApiRequest, watch_id: UUID) -> HttpResponse:
    """`ETag` is its version: send it as `If-Match` with a change."""
    watch = Watch.objects.own(request.auth.user, id=watch_id)
    return answer(_seen(request, watch), ETag=versions.etag(watch.version))


@router.get("/{uuid:watch_id}/pings", response=paging.Page[PingDocument], summary="List the last pings")
def list_pings(request: ApiRequest, watch_id: UUID, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first: at most 100, with their output."""
    pings = Watch.objects.own(request.auth.user, id=watch_id).pings.all()
    return paging.answer_page(pings, request, page, PingDocument, by="number")


@router.put("/{uuid:watch_id}", response=WatchDocument, summary="Replace a watch")
def replace_watch(request: ApiRequest, watch_id: UUID, body: WatchReplacement) -> HttpResponse:
    """Fields that are not given get their defaults."""
    with lock_user(request.auth.user), _changing(request, watch_id) as watch:
        require_unchanged(body, document, watch)
        return versions.show(document, changes.change(*described(body, request.auth.user, watch)))


@router.patch("/{uuid:watch_id}", response=WatchDocument, summary="Change some fields of a watch")
def change_watch(request: ApiRequest, watch_id: UUID, body: WatchPatch) -> HttpResponse:
    """Fields that are not given stay as they are."""
    return replace_watch(request, watch_id, body)


@router.delete("/{uuid:watch_id}", response={204: None}, summary="Delete a watch")
def delete_watch(request: ApiRequest, watch_id: UUID) -> None:
    """Its address answers 404, and what is not sent yet is cancelled. `restore` undoes it."""
    with _changing(request, watch_id) as watch:
        changes.delete(watch.id)


@router.post("/{uuid:watch_id}/restore", response=WatchDocument, summary="Restore a deleted watch")
def restore_watch(request: ApiRequest, watch_id: UUID) -> HttpResponse:
    """The next ping is expected as if one had come now."""
    mine = Watch.objects.deleted_of(request.auth.user)
    with lock_user(request.auth.user), versions.locked(request, mine, document, id=watch_id) as deleted:
        changes.require_room(request.auth.user)
        return versions.show(document, changes.restore(deleted.id))


@router.post("/{uuid:watch_id}/pause", response=WatchDocument, summary="Pause a watch")
def pause_watch(request: ApiRequest, watch_id: UUID, body: PauseBody) -> HttpResponse:
    """Nothing is expected until it is resumed, or until its next ping."""
    with _changing(request, watch_id):
        return versions.show(document, changes.pause(watch_id, stays_paused=not body.until_ping))


@router.post("/{uuid:watch_id}/resume", response=WatchDocument, summary="Resume a watch")
def resume_watch(request: ApiRequest, watch_id: UUID) -> HttpResponse:
    """The next ping is expected as if one had come now."""
    with _changing(request, watch_id):
        return versions.show(document, changes.resume(watch_id))
