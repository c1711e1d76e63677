"""The kinds of job, and what a check finds at this moment."""

from typing import Any, Literal
from uuid import UUID

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import Instant
from api.protocol.problems import conflict, too_many_checks
from api.resources.channels.documents import field_document
from api.resources.notifications import ReasonDocument, reason
from api.resources.schedules import documents as schedules
from api.resources.schedules.documents import CheckBody
from api.resources.schedules.job import NotTaken, default_of
from api.resources.schedules.operations import own
from jobs import kinds
from jobs.checks import check_now as checks
from jobs.checks.check_now import Checked
from jobs.checks.recording import queue_of
from jobs.checks.results import instant, not_taken
from jobs.models import Job
from jobs.reasons import JobCode
from schedules.firing import fire
from schedules.models import Schedule

router = Router(tags=["jobs"], auth=Bearer("schedules"))
kinds_router = Router(tags=["jobs"], auth=Bearer("schedules"))
checks_router = Router(tags=["jobs"], auth=Bearer("schedules"))

_TYPES: list[tuple[type[forms.Field], str]] = [
    (forms.BooleanField, "boolean"),
    (forms.MultipleChoiceField, "choices"),
    (forms.ChoiceField, "choice"),
    (forms.IntegerField, "number"),
    (forms.JSONField, "json"),
]


class JobKindField(BaseModel):
    """A field of a payload."""

    name: str = Field(description="What it is called in `payload`.")
    label: str
    help: str
    type: Literal["boolean", "choices", "choice", "number", "json", "text"] = Field(
        description="What it takes; `choices`: a list of them."
    )
    required: bool = Field(description="Whether it must have a value.")
    default: Any = Field(description="What it has where nothing is given.")
    choices: list[str] | None = Field(description="Its possible values; null: any.")


class JobKindDocument(BaseModel):
    """A kind of job."""

    name: str = Field(description="Its code: the `kind` of a job.")
    label: str
    about: str
    queue: str = of(lambda kind: queue_of(kind.name), "The queue of workers that run it.")
    connection: str = Field(description="The kind of connection that it uses; empty: none.")
    needs_connection: bool = of(
        lambda kind: bool(kind.connection) and kind.needs_connection, "Whether it does not work without one."
    )
    speaks: bool = Field(description="Whether it may say something, so that its schedule needs channels.")
    placeholders: dict[str, str] = of(
        lambda kind: kind.examples(), "What title and body may name, with an example of each."
    )
    title: str = Field(description="The title that it suggests, with placeholders.")
    body: str = Field(description="The text that it suggests, with placeholders.")
    fields: list[JobKindField] = of(
        lambda kind: [_field(*named) for named in kind.form.base_fields.items()], "The fields of its `payload`."
    )


class CheckNowDocument(BaseModel):
    id: UUID = Field(description="With which to ask again: `GET /checks/{check_id}`.")
    outcome: Literal["checking", "spoke", "silent", "failed"] = Field(
        description="`checking`: it is under way. `spoke`: it would send something."
    )
    reason: ReasonDocument = of(
        lambda checked: reason(checked.reason.code, checked.reason.params) | {"text": checked.outcome_text},
        "What it found, or why the check failed.",
    )
    title: str | None = of("text.subject", "The subject that it would send; null if it sends nothing.")
    body: str | None = of("text.body", "The text that it would send; null if it sends nothing.")
    not_taken: list[NotTaken] = of(lambda checked: not_taken(checked.reason.params))
    silent_started_at: Instant | None = of(lambda checked: instant(checked.reason.params, "silent_since"))
    answered_at: Instant | None = of(lambda checked: instant(checked.reason.params, "answered_at"))


@kinds_router.get("", response=paging.Page[JobKindDocument], summary="List the kinds of job")
def list_job_kinds(request: ApiRequest) -> HttpResponse:
    """Kinds of check that a schedule can make before it speaks."""
    return paging.answer_all(documents(JobKindDocument, kinds.offered()))


_CHECKED: dict[int, Any] = {200: CheckNowDocument, 202: CheckNowDocument}


@router.post("/check", response=_CHECKED, summary="Check now")
def check_job(request: ApiRequest, body: CheckBody) -> HttpResponse:
    """Says what a job finds at this moment, and what it would say. Sends nothing.

    202 where that takes longer than a second: then the check at `Location` says it.
    """
    user = request.auth.user
    return _checked(checks.check_now(user, schedules.typed_schedule(body, user, fire.read_clock().now)))


@checks_router.get("/{uuid:check_id}", response=CheckNowDocument, summary="Get what a check found")
def get_check(request: ApiRequest, check_id: UUID) -> HttpResponse:
    """Ask again after a second while it is under way."""
    try:
        return _checked(checks.find(request.auth.user, check_id), is_new=False)
    except Job.DoesNotExist:
        raise Http404 from None


@router.post("/{uuid:schedule_id}/check", response=_CHECKED, summary="Check now, as a schedule does")
def check_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Says what its job finds at this moment, as one that knows what its checks have found so far. Sends nothing.

    202 where that takes longer than a second: then the check at `Location` says it.
    """
    schedule: Schedule = own(request, schedule_id)
    if not schedule.job_kind:
        raise conflict("This schedule checks nothing. Give it a job first.")
    return _checked(checks.check_now(request.auth.user, schedule, schedule.id))


def _checked(checked: Checked, *, is_new: bool = True) -> HttpResponse:
    if checked.reason.code == JobCode.TOO_OFTEN:
        raise too_many_checks("Nothing was checked.", checked.reason)
    here = {"Location": reverse("api:get_check", args=[checked.id]), "Retry-After": "1"} if checked.is_open else {}
    status = 202 if checked.is_open and is_new else 200
    return answer(fields_of(CheckNowDocument, checked), status, **here)


def _field(name: str, field: forms.Field) -> dict[str, Any]:
    initial = default_of(field)
    return field_document(name, field) | {
        "label": field.label or name.replace("_", " ").capitalize(),
        "type": next((named for kind, named in _TYPES if isinstance(field, kind)), "text"),
        "default": False if initial is None and isinstance(field, forms.BooleanField) else initial,
    }
