"""The kinds of job, and what a look finds at this moment."""

from typing import Any, Literal
from uuid import UUID

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Instant
from api.protocol.problems import Problem, conflict
from api.resources.channels.document import choices_of
from api.resources.schedules import body as bodies
from api.resources.schedules.access import own
from api.resources.schedules.body import LookBody
from api.resources.schedules.job import NotTaken, default_of
from jobs import kinds
from jobs.checks import look_now as looks
from jobs.checks.look_now import Looked
from jobs.checks.looks import not_taken, silent_since
from jobs.checks.recording import queue_of
from jobs.kinds.base import JobKind
from jobs.models import Job
from jobs.reasons import Code
from schedules.firing import fire
from schedules.job_kinds import look_now
from schedules.models import Schedule

router = Router(tags=["jobs"], auth=Bearer("schedules"))
kinds_router = Router(tags=["jobs"], auth=Bearer("schedules"))

_TYPES: list[tuple[type[forms.Field], str]] = [
    (forms.BooleanField, "boolean"),
    (forms.MultipleChoiceField, "choices"),
    (forms.ChoiceField, "choice"),
    (forms.IntegerField, "number"),
    (forms.JSONField, "json"),
]


class JobKindField(BaseModel):
    """A field of a payload. `choices` are its values, where it has them."""

    name: str
    label: str
    help: str
    type: Literal["boolean", "choices", "choice", "number", "json", "text"]
    required: bool
    default: Any
    choices: list[str] | None


class JobKindDocument(BaseModel):
    """A kind of job. `placeholders` are what title and body may name, with examples; `title` and `body` its texts."""

    name: str
    label: str
    about: str
    queue: str
    connection: str = Field(description="The kind of connection that it looks through; empty: none.")
    needs_connection: bool
    speaks: bool = Field(description="Whether it may say something, so that its schedule needs channels.")
    placeholders: dict[str, str]
    title: str
    body: str
    fields: list[JobKindField]


class JobKinds(BaseModel):
    items: list[JobKindDocument]


class LookedDocument(BaseModel):
    """`code` and `text` are what it found, or why it could not look; `title` and `body` what it would say.

    `looking`: it is under way; ask again with its `id`.
    """

    id: UUID
    outcome: Literal["looking", "spoke", "silent", "failed"]
    code: str
    text: str
    title: str | None
    body: str | None
    not_taken: list[NotTaken]
    silent_since: Instant | None


@kinds_router.get("", response=JobKinds, summary="List the kinds of job")
def list_job_kinds(request: ApiRequest) -> HttpResponse:
    """What a schedule can look at before it speaks."""
    return answer({"items": [_kind(kind) for kind in kinds.offered()]})


_LOOKED: dict[int, Any] = {200: LookedDocument, 202: LookedDocument}


@router.post("/look", response=_LOOKED, summary="Check now")
def look_now_at(request: ApiRequest, body: LookBody) -> HttpResponse:
    """Says what a job finds at this moment, and what it would say. Sends nothing.

    202 where that takes longer than a second: then the look at `Location` says it.
    """
    user = request.auth.user
    asked = bodies.typed_schedule(body, user, fire.read_clock().now)
    return _looked(look_now.look_now(user, asked))


@router.get("/look/{uuid:look_id}", response=LookedDocument, summary="Get what a look found")
def get_look(request: ApiRequest, look_id: UUID) -> HttpResponse:
    """Ask again after a second while it is under way."""
    try:
        return _looked(looks.find(request.auth.user, look_id), is_new=False)
    except Job.DoesNotExist:
        raise Http404 from None


@router.post("/{uuid:schedule_id}/look", response=_LOOKED, summary="Check now, as a schedule does")
def look_now_as(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Says what its job finds at this moment, as one that knows what its looks have found so far. Sends nothing.

    202 where that takes longer than a second: then the look at `Location` says it.
    """
    schedule: Schedule = own(request, schedule_id)
    if not schedule.job_kind:
        raise conflict("This schedule looks at nothing. Give it a job first.")
    return _looked(look_now.look_now(request.auth.user, schedule, schedule))


def _looked(looked: Looked, *, is_new: bool = True) -> HttpResponse:
    if looked.reason.code == Code.TOO_OFTEN:
        raise Problem(
            429, "too-many-looks", "Nothing was looked at.", str(looked.reason), headers={"Retry-After": "60"}
        )
    here = {"Location": reverse("api:get_look", args=[looked.id]), "Retry-After": "1"} if looked.is_open else {}
    return answer(
        {
            "id": str(looked.id),
            "outcome": looked.outcome,
            "code": looked.reason.code,
            "text": looked.said,
            "title": looked.text and looked.text.subject,
            "body": looked.text and looked.text.body,
            "not_taken": not_taken(looked.reason.params),
            "silent_since": silent_since(looked.reason.params),
        },
        202 if looked.is_open and is_new else 200,
        **here,
    )


def _kind(kind: JobKind) -> dict[str, Any]:
    return {
        "name": kind.name,
        "label": str(kind.label),
        "about": str(kind.about),
        "queue": queue_of(kind.name),
        "connection": kind.connection,
        "needs_connection": bool(kind.connection) and kind.needs_connection,
        "speaks": kind.speaks,
        "placeholders": kind.examples(),
        "title": str(kind.title),
        "body": str(kind.body),
        "fields": [_field(name, field) for name, field in kind.form.base_fields.items()],
    }


def _field(name: str, field: forms.Field) -> dict[str, Any]:
    initial = default_of(field)
    if isinstance(initial, Promise):
        initial = str(initial)
    return {
        "name": name,
        "label": str(field.label or name.replace("_", " ").capitalize()),
        "help": str(field.help_text),
        "type": next((named for kind, named in _TYPES if isinstance(field, kind)), "text"),
        "required": field.required,
        "default": False if initial is None and isinstance(field, forms.BooleanField) else initial,
        "choices": choices_of(field),
    }
