"""The check of a schedule, in bodies and answers: validated by the job section of the form that the pages use."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from django import forms
from pydantic import BaseModel, Field

from api.protocol import words
from api.protocol.answers import fields_of, of
from api.protocol.fields import Body, Chosen, FewNames, FormBody, Instant, limited
from api.protocol.problems import FieldError
from api.resources.notifications import ReasonDocument, reason
from jobs import kinds
from jobs.checks.results import Check, instant
from schedules.inputs.job_form import PREFIX, JobForm, initial_of
from schedules.models import Schedule

# Fields of the form, by what they are called in a body.
_PATHS = {
    "job_kind": "kind",
    "connection": "connection_id",
    "on_error": "on_error",
    "errors_allowed": "errors_allowed",
    f"{PREFIX}-__all__": "payload",
}


KIND = "A kind of job: `GET /job-kinds` lists those of this installation."


class JobBody(Body):
    """`GET /job-kinds` lists the kinds, and the fields of the `payload` of each."""

    model_config = limited(JobForm)

    kind: str = Field(min_length=1, max_length=40, description=KIND)
    payload: Annotated[dict[str, Any], FewNames] = Field({}, description="What is not given gets its default.")
    connection_id: str | None = Field(
        None, description="Where the kind uses a connection. For an audience: null, each reader's own counts."
    )
    on_error: Chosen = Field(
        "daily",
        description="If the check fails: tell me once a day (`daily`), tell me `after` several failures, or `send` it.",
    )
    errors_allowed: int = Field(3, description="For `after`.")


class NotTaken(BaseModel):
    """Items that a check did not take, by cause."""

    cause: str = Field(description="Why, as a sentence.")
    count: int = Field(description="How many there are.")
    example: str = Field(description="The first of them, such as an event's title.")


class CheckDocument(BaseModel):
    """One check."""

    kind: str = of("job.kind", KIND)
    outcome: Literal["waiting", "spread", "checking", "retrying", "spoke", "silent", "failed", "dropped"] = Field(
        description="`spread` and `retrying` wait until `due_at`; `dropped`: it was cancelled, or came too late."
    )
    reason: ReasonDocument = of(
        lambda check: reason(check.job.reason_code, {}) | {"text": check.text},
        "Its evidence, or why it failed.",
    )
    due_at: Instant | None = of("at", "When it checks; null if it does not wait.")
    notification_id: UUID | None = of("job.notification_id", "What it sent; null if it was silent.")
    not_taken: list[NotTaken]
    silent_started_at: Instant | None = of(lambda check: instant(check.job.reason_params, "silent_since"))
    answered_at: Instant | None = of(lambda check: instant(check.job.reason_params, "answered_at"))


def fields(body: FormBody, job: JobBody | None) -> dict[str, Any]:
    """The typed fields of the form. Refuses a payload that the form cannot take."""
    if job is None:
        return {"job_kind": ""}
    kind = kinds.find(job.kind)
    result = {
        "job_kind": job.kind,
        "job_shown": job.kind,
        "connection": job.connection_id,
        "on_error": job.on_error,
        "errors_allowed": job.errors_allowed,
    }
    return result if kind is None else result | _question(body, kind.form.base_fields, job.payload)


def _question(body: FormBody, form_fields: Mapping[str, forms.Field], payload: Mapping[str, Any]) -> dict[str, Any]:
    wrong = [
        FieldError(f"job.payload.{name}", str(words.UNKNOWN), "unknown_field")
        for name in payload.keys() - form_fields.keys()
    ]
    typed = {}
    for name, field in form_fields.items():
        value = payload.get(name)
        problem = "" if value is None else _unfit(field, value)
        if problem:
            wrong.append(FieldError(f"job.payload.{name}", problem, "type"))
        typed[f"{PREFIX}-{name}"] = default_of(field) if problem or name not in payload else value
    body.refuse(*wrong)
    return typed


def default_of(field: forms.Field) -> Any:
    return field.initial() if callable(field.initial) else field.initial


def _unfit(field: forms.Field, value: Any) -> str:
    """Why a form would take this value for another one; "" if it would not."""
    if isinstance(field, forms.BooleanField):
        return "" if isinstance(value, bool) else "Give true or false."
    if isinstance(field, forms.MultipleChoiceField):
        return "" if isinstance(value, list) else "Give a list."
    fits = isinstance(value, str | int | float) and not isinstance(value, bool)
    return "" if fits else "Give a text or a number."


def path(name: str) -> str | None:
    """Return the path of a form field in a body; None if it is none of this section."""
    if name in _PATHS:
        return f"job.{_PATHS[name]}"
    return f"job.payload.{name.removeprefix(f'{PREFIX}-')}" if name.startswith(f"{PREFIX}-") else None


def document(schedule: Schedule) -> dict[str, Any] | None:
    """As a body would say it."""
    if not schedule.job_kind:
        return None
    kind = kinds.find(schedule.job_kind)
    payload = schedule.job_payload or {}
    requested = payload if kind is None else initial_of(kind, payload)
    return fields_of(JobBody, schedule, kind=schedule.job_kind, payload=requested)


def check_document(check: Check | None) -> dict[str, Any] | None:
    return None if check is None else fields_of(CheckDocument, check)
