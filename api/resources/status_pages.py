"""Status pages with their incidents, and badges: what strangers see of watches."""

from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of, of
from api.protocol.fields import Body, FormBody, Instant, Partial, Replacement, Texts, limited, shows, valid
from api.protocol.problems import FieldError, errors, invalid, require_unchanged, require_valid
from common.admin.base import as_uuid
from common.texts.written import check_line
from people.models import User
from people.user_lock import lock_user
from watches import badges
from watches.models import Badge, PublicIncident, StatusPage, Watch
from watches.models.badge import new_token
from watches.status_pages import status
from watches.status_pages.forms import PublicIncidentForm, StatusPageForm

router = Router(tags=["status pages"], auth=Bearer("schedules", shows_secrets=True))
badges_router = Router(tags=["badges"], auth=Bearer("schedules", shows_secrets=True))


class StatusPageBody(FormBody):
    model_config = limited(StatusPageForm)

    title: str = Field(description="Its heading.", json_schema_extra={"minLength": 1})
    slug: str | None = Field(None, description="The end of its address; without one, a random one.")
    intro: str = Field("", description="A text below its heading.")
    watch_ids: Texts = Field([], description="At most 50 of your watches.")
    enabled: bool = Field(True, description="Whether everybody who knows the address can read it.")


class StatusPagePatch(Partial, StatusPageBody, Replacement):
    """Fields that are not given stay as they are."""


@shows(StatusPageBody)
class StatusPageDocument(BaseModel):
    id: UUID
    slug: str
    url: str = Field(description="The page; its feed is `feed` below it.")
    watch_ids: list[UUID] = of(lambda page: shown_ids(page))
    subscribers: int = of(
        lambda page: page.subscribers.filter(confirmed_at__isnull=False).count(),
        "How many addresses get its incidents by mail.",
    )


class PublicIncidentBody(FormBody):
    model_config = limited(PublicIncidentForm)

    title: str = Field(description="In one line.", json_schema_extra={"minLength": 1})
    text: str = Field("", description="What happened, whom it affects, and what comes next.")


class PublicIncidentPatch(Partial, PublicIncidentBody, Replacement):
    """Fields that are not given stay as they are."""

    is_over: bool = Field(description="Whether it has ended.")


class PublicIncidentDocument(BaseModel):
    id: UUID
    title: str
    text: str
    is_over: bool = of(lambda incident: incident.ended_at is not None, "Whether it has ended.")
    began_at: Instant = Field(description="When it was published, or when the incident began that it was made of.")
    updated_at: Instant
    ended_at: Instant | None = Field(description="When it ended; null while it is open.")


class BadgeBody(Body):
    """Of a watch, or of all watches with a tag."""

    watch_id: str | None = Field(None, description="Of this watch; exactly one of this and `tag`.")
    tag: Annotated[str, Field(max_length=30), valid(lambda text: text and check_line(text))] = Field(
        "", description="Or the worst state of all your watches with this tag."
    )


class BadgeDocument(BaseModel):
    id: UUID
    watch_id: UUID | None = Field(description="Of this watch; null for a tag.")
    tag: str = Field(description="Of all watches with this tag; empty for a watch.")
    url: str = Field(description="Append `.svg` for the picture, `.json` or `.shields` for its data.")


def shown_ids(page: StatusPage) -> list[str]:
    """Of its watches that are not deleted."""
    return sorted(str(watch.id) for watch in page.watches.all() if watch.deleted_at is None)


def make(user: User, body: StatusPageBody, page: StatusPage | None = None) -> StatusPage:
    """Of `page`, else a new one; the person is locked. Raises a 422 problem."""
    given = body.model_dump(include=body.model_fields_set if page else None)
    stored = StatusPage() if page is None else page
    fields = {name: getattr(stored, name) for name in ("title", "slug", "intro", "enabled")} | given
    fields["slug"] = fields["slug"] or stored.slug
    if "watch_ids" in given or page is None:
        fields["watches"] = body.watch_ids
    else:
        fields["watches"] = [watch.id for watch in status.watches_of(page)]
    form = StatusPageForm(fields, user, page)
    require_valid(body, form)
    if (saved := form.save()) is None:
        raise invalid(*errors(form))
    return saved


@router.get("", response=paging.Page[StatusPageDocument], summary="List status pages")
def list_status_pages(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first."""
    pages = StatusPage.objects.for_user(request.auth.user).prefetch_related("watches")
    return paging.answer_page(pages, request, page, StatusPageDocument)


@router.post("", response={201: StatusPageDocument}, summary="Create a status page")
def create_status_page(request: ApiRequest, body: StatusPageBody) -> HttpResponse:
    """Strangers see its watches by name, with their state and 90 days of uptime, and its incidents."""
    with lock_user(request.auth.user):
        made = make(request.auth.user, body)
    return answer(fields_of(StatusPageDocument, made), 201, Location=f"{request.path}/{made.id}")


@router.get("/{uuid:page_id}", response=StatusPageDocument, summary="Read a status page")
def read_status_page(request: ApiRequest, page_id: UUID) -> HttpResponse:
    """As its owner has set it."""
    return answer(fields_of(StatusPageDocument, StatusPage.objects.own(request.auth.user, id=page_id)))


@router.patch("/{uuid:page_id}", response=StatusPageDocument, summary="Change a status page")
def change_status_page(request: ApiRequest, page_id: UUID, body: StatusPagePatch) -> HttpResponse:
    """Fields that are not given stay as they are."""
    with lock_user(request.auth.user):
        page = StatusPage.objects.own(request.auth.user, id=page_id)
        require_unchanged(body, StatusPageDocument, page)
        return answer(fields_of(StatusPageDocument, make(request.auth.user, body, page)))


@router.delete("/{uuid:page_id}", response={204: None}, summary="Delete a status page")
def delete_status_page(request: ApiRequest, page_id: UUID) -> None:
    """With its incidents and subscribers. The watches stay."""
    status.delete(StatusPage.objects.own(request.auth.user, id=page_id))


@router.get(
    "/{uuid:page_id}/incidents", response=paging.Page[PublicIncidentDocument], summary="List published incidents"
)
def list_public_incidents(request: ApiRequest, page_id: UUID, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first, also those that are over."""
    incidents = StatusPage.objects.own(request.auth.user, id=page_id).incidents.all()
    return paging.answer_page(incidents, request, page, PublicIncidentDocument)


@router.post("/{uuid:page_id}/incidents", response={201: PublicIncidentDocument}, summary="Publish an incident")
def create_public_incident(request: ApiRequest, page_id: UUID, body: PublicIncidentBody) -> HttpResponse:
    """Subscribers get a mail. Send an `Idempotency-Key`, so that a repeat publishes one."""
    with lock_user(request.auth.user):
        page = StatusPage.objects.own(request.auth.user, id=page_id)
        form = PublicIncidentForm({"page": page.id, **body.model_dump()}, request.auth.user, PublicIncident())
        require_valid(body, form)
        made = PublicIncident.objects.get(id=form.save().id)
    return answer(fields_of(PublicIncidentDocument, made), 201, Location=f"{request.path}/{made.id}")


@router.get("/{uuid:page_id}/incidents/{uuid:incident_id}", response=PublicIncidentDocument, summary="Read an incident")
def read_public_incident(request: ApiRequest, page_id: UUID, incident_id: UUID) -> HttpResponse:
    """As strangers read it."""
    return answer(fields_of(PublicIncidentDocument, _incident(request, page_id, incident_id)))


@router.patch(
    "/{uuid:page_id}/incidents/{uuid:incident_id}", response=PublicIncidentDocument, summary="Change an incident"
)
def change_public_incident(
    request: ApiRequest, page_id: UUID, incident_id: UUID, body: PublicIncidentPatch
) -> HttpResponse:
    """Fields that are not given stay as they are. `is_over` ends it. Subscribers get a mail if anything changes."""
    with lock_user(request.auth.user):
        incident = _incident(request, page_id, incident_id)
        shown = fields_of(PublicIncidentDocument, incident)
        require_unchanged(body, PublicIncidentDocument, incident)
        form = PublicIncidentForm(shown | body.model_dump(exclude_unset=True), request.auth.user, incident)
        require_valid(body, form)
        form.save()
        return answer(fields_of(PublicIncidentDocument, _incident(request, page_id, incident_id)))


@router.delete("/{uuid:page_id}/incidents/{uuid:incident_id}", response={204: None}, summary="Delete an incident")
def delete_public_incident(request: ApiRequest, page_id: UUID, incident_id: UUID) -> None:
    """From its page. Mails of it that are not sent yet are not sent."""
    status.delete_incident(_incident(request, page_id, incident_id))


@badges_router.get("", response=paging.Page[BadgeDocument], summary="List badges")
def list_badges(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first."""
    return paging.answer_page(Badge.objects.for_user(request.auth.user), request, page, BadgeDocument)


@badges_router.post("", response={201: BadgeDocument}, summary="Create a badge")
def create_badge(request: ApiRequest, body: BadgeBody) -> HttpResponse:
    """The answer is the one that exists, where there is one."""
    with lock_user(request.auth.user):
        badge = make_badge(request.auth.user, body)
    return answer(fields_of(BadgeDocument, badge), 201, Location=f"{request.path}/{badge.id}")


def make_badge(user: User, body: BadgeBody) -> Badge:
    """The person is locked. Raises NotPossible and a 422 problem."""
    if (body.watch_id is None) == (not body.tag):
        raise invalid(FieldError("tag", "Give a watch_id or a tag, one of both.", "one_of_both"))
    watch = None
    if body.watch_id is not None:
        key = as_uuid(body.watch_id)
        watch = None if key is None else Watch.objects.for_user(user).filter(id=key).first()
        if watch is None:
            raise invalid(FieldError("watch_id", "You have no such watch.", "unknown"))
    return badges.create(user, watch, body.tag)


@badges_router.get("/{uuid:badge_id}", response=BadgeDocument, summary="Read a badge")
def read_badge(request: ApiRequest, badge_id: UUID) -> HttpResponse:
    """With its address, by which anybody can see the state."""
    return answer(fields_of(BadgeDocument, Badge.objects.own(request.auth.user, id=badge_id)))


@badges_router.post("/{uuid:badge_id}/url", response=BadgeDocument, summary="Give a badge a new address")
def replace_badge_url(request: ApiRequest, badge_id: UUID) -> HttpResponse:
    """The old one does not work any more."""
    Badge.objects.for_user(request.auth.user).filter(id=badge_id).update(token=new_token())
    return answer(fields_of(BadgeDocument, Badge.objects.own(request.auth.user, id=badge_id)))


@badges_router.delete("/{uuid:badge_id}", response={204: None}, summary="Delete a badge")
def delete_badge(request: ApiRequest, badge_id: UUID) -> None:
    """Its address does not work any more."""
    Badge.objects.own(request.auth.user, id=badge_id).delete()


def _incident(request: ApiRequest, page_id: UUID, incident_id: UUID) -> PublicIncident:
    mine = PublicIncident.objects.select_related("page").filter(page__user=request.auth.user, page=page_id)
    return get_object_or_404(mine, id=incident_id)
