"""Rules, which notify when something happens: list, create, read, try, change, switch, delete and restore them."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Annotated, Any, Self
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, FailFast, Field, model_validator

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import Body, FormBody, Instant, Partial, Replacement, Texts, limited, one_error, one_of, shows
from api.protocol.problems import FieldError, invalid, require_unchanged, require_valid
from api.resources.event_bodies import Data, StoredId, Type
from api.resources.notifications import Length, ReasonDocument, reason
from events.inputs.conditions_field import LONGEST_VALUE, MOST_CONDITIONS
from events.inputs.rule_form import RuleForm
from events.models import Event, Rule
from events.pure import matching
from events.pure.envelope import as_sent
from events.pure.matching import Condition
from events.reasons import OPERATORS
from events.rules import changes, preview
from events.rules.changes import PLAIN
from notifications.channels import text_preview
from notifications.inputs.channels_form import form_values
from notifications.models import Channel
from people.models import User
from people.user_lock import lock_user
from work.reasons import Reason

router = Router(tags=["rules"], auth=Bearer("events"))


class ConditionDocument(BaseModel):
    field: str
    operator: Annotated[str, one_of(OPERATORS)]
    value: str | int | float | bool | None


def conditions(rule: Rule) -> list[dict[str, Any]]:
    """None if they are damaged."""
    try:
        return documents(ConditionDocument, matching.read_conditions(rule.conditions))
    except ValueError:
        return []


class ConditionBody(Body):
    field: str = Field(
        description=f"A path such as `data.amount`, or one of {', '.join(matching.PLACES)}.",
        json_schema_extra={"pattern": f"^({'|'.join(matching.PLACES)}|{matching.PATH.pattern})$"},
    )
    operator: str = Field(
        description="How the field is compared with `value`; `exists` needs none.",
        json_schema_extra={"enum": [*OPERATORS]},
    )
    value: Annotated[str | int | float | bool | None, one_error("string_type")] = Field(
        "", description=f'At most {LONGEST_VALUE} characters long. Compared by what it says: `100` equals `"100"`.'
    )


class RuleBody(FormBody):
    model_config = limited(RuleForm)

    name: str = Field(description="A name for people.", json_schema_extra={"minLength": 1})
    type_pattern: str = Field(
        description="`order.paid`, `order.*` for what begins so, or `*` for every event.",
        json_schema_extra={"pattern": f"^({matching.PATTERN.pattern})$"},
    )
    source: str = Field("", description="Only events from this source; empty: from anywhere.")
    conditions: Annotated[list[ConditionBody], FailFast()] = Field(
        [], description="All must hold.", json_schema_extra={"maxItems": MOST_CONDITIONS}
    )
    title: str = Field(description="Placeholders as in `body`.", json_schema_extra={"minLength": 1})
    body: str = Field("", description="Placeholders: {type}, {source}, {time}, {id}, and {data.…} for a field.")
    channel_ids: Texts = Field(description="Ids of your channels.", json_schema_extra={"minItems": 1})
    in_order: bool = False
    escalate_after: int | None = None
    urgent: bool = False
    throttle_count: int | None = Field(None, description="Fire at most so often in `throttle_seconds`.")
    throttle_seconds: int | None = Field(None, description="The time in which `throttle_count` counts.")
    digest_seconds: int | None = Field(None, description="One message for all events of so many seconds.")
    digest_at: str | None = Field(None, description="One message a day, at this time in your time zone: `09:00`.")
    digest_count: int | None = Field(None, description="With one of these: not more events in a message.")
    digest_key: str = Field("", description="With one of these: a message for each value of this field.")
    series: str = Field(
        "",
        description="Steps that follow the message, one a line, each `when | title | text`: "
        "`3 days | Still open? | Pay {data.order_id}.`",
    )
    series_ends_on: str = Field("", description="The type of the event that ends them.")
    series_key: str = Field("", description="A field of which that event has the same value.")


class RuleReplacement(RuleBody, Replacement):
    """Also as `GET` answers it: what cannot be changed here may be sent as it is."""


class RulePatch(Partial, RuleReplacement):
    """Fields that are not given stay as they are."""


@shows(RuleBody)
class RuleDocument(BaseModel):
    """`digest_at` is a time of day in your time zone."""

    id: UUID
    enabled: bool
    version: int
    conditions: list[ConditionDocument] = of(conditions, "Empty if they are damaged; then the rule does not fire.")
    channel_ids: list[UUID] = of(lambda rule: [channel.id for channel in rule.ordered_channels()])
    in_order: bool = of(lambda rule: bool(rule.channel_order))
    created_at: Instant
    updated_at: Instant


def described(
    body: RuleBody, user: User, rule: Rule | None = None, place: str = "", also: Iterable[UUID] = ()
) -> tuple[Rule, list[Channel]]:
    """The rule, not saved, and its channels: a new one, or what `body` makes of `rule`. Raises a 422 problem.

    What a patch does not give stays. `place` stands before the names of fields in errors; channels in `also` may be
    used before they are confirmed.
    """
    fields: dict[str, Any] = {}
    if rule is not None:
        fields = {name: getattr(rule, name) for name in (*PLAIN, "version")}
        fields |= {"conditions": conditions(rule), "in_order": bool(rule.channel_order)}
    given = body.model_fields_set if isinstance(body, RulePatch) else RuleBody.model_fields.keys()
    fields |= body.model_dump(include=RuleBody.model_fields.keys() & given)
    form = RuleForm(form_values(fields), user=user, rule=rule, also=also)
    require_valid(body, form, place=place)
    return form.as_rule(), form.ordered()


def _changing(request: ApiRequest, rule_id: UUID) -> AbstractContextManager[Rule]:
    return versions.locked(request, Rule.objects.for_user(request.auth.user), RuleDocument, id=rule_id)


@router.get("", response=paging.Page[RuleDocument], summary="List rules")
def list_rules(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first."""
    result = Rule.objects.for_user(request.auth.user).prefetch_related("channels")
    return paging.answer_page(result, request, page, RuleDocument)


@router.post("", response={201: RuleDocument}, summary="Create a rule")
def create_rule(request: ApiRequest, body: RuleBody) -> HttpResponse:
    """It fires for events from now on. Send an `Idempotency-Key`, so that a repeated request creates one."""
    with lock_user(request.auth.user):
        rule = changes.create(*described(body, request.auth.user))
    return versions.show(RuleDocument, rule, 201, Location=f"{request.path}/{rule.id}")


@router.get("/{uuid:rule_id}", response=RuleDocument, summary="Read a rule")
def read_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """`ETag` is its version: send it as `If-Match` with a change."""
    return versions.show(RuleDocument, Rule.objects.own(request.auth.user, id=rule_id))


@router.put("/{uuid:rule_id}", response=RuleDocument, summary="Replace a rule")
def replace_rule(request: ApiRequest, rule_id: UUID, body: RuleReplacement) -> HttpResponse:
    """Fields that are not given get their defaults."""
    with _changing(request, rule_id) as rule:
        require_unchanged(body, RuleDocument, rule)
        return versions.show(RuleDocument, changes.change(*described(body, request.auth.user, rule)))


@router.patch("/{uuid:rule_id}", response=RuleDocument, summary="Change some fields of a rule")
def change_rule(request: ApiRequest, rule_id: UUID, body: RulePatch) -> HttpResponse:
    """Fields that are not given stay as they are."""
    return replace_rule(request, rule_id, body)


@router.delete("/{uuid:rule_id}", response={204: None}, summary="Delete a rule")
def delete_rule(request: ApiRequest, rule_id: UUID) -> None:
    """Cancels what is not sent yet. Its effects stay, and `restore` undoes it."""
    with _changing(request, rule_id) as rule:
        changes.delete(rule.id)


@router.post("/{uuid:rule_id}/restore", response=RuleDocument, summary="Restore a deleted rule")
def restore_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """It does not fire for events that came while it was deleted."""
    mine = Rule.objects.deleted_of(request.auth.user)
    with lock_user(request.auth.user), versions.locked(request, mine, RuleDocument, id=rule_id) as deleted:
        changes.require_room(request.auth.user)
        return versions.show(RuleDocument, changes.restore(deleted.id))


@router.post("/{uuid:rule_id}/enable", response=RuleDocument, summary="Switch a rule on")
def enable_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """It does not fire for events that came while it was off."""
    with _changing(request, rule_id):
        return versions.show(RuleDocument, changes.switch(rule_id, True))


@router.post("/{uuid:rule_id}/disable", response=RuleDocument, summary="Switch a rule off")
def disable_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """It does not fire any more, and unsent messages of it are cancelled."""
    with _changing(request, rule_id):
        return versions.show(RuleDocument, changes.switch(rule_id, False))


class Sample(Body):
    type: Type
    source: str = Field("", max_length=200)
    data: Data = Field(default_factory=dict, description="What conditions and texts read.")


class PreviewBody(Body):
    """A rule, and an event of yours by its id or one that is given here."""

    rule: RuleBody = Field(description="The rule to try.")
    event_id: StoredId | None = Field(None, description="An event of yours, by its id.")
    event: Sample | None = Field(None, description="Or an event that is given here.")

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.event_id is None) == (self.event is None):
            raise ValueError("Give either event_id or event.")
        return self


class CheckedCondition(ConditionDocument):
    """`reason` says why it does not hold."""

    holds: bool = Field(description="Whether the event meets it.")
    reason: ReasonDocument


class RulePreview(BaseModel):
    """Its limit and digest aside."""

    rings: bool = Field(description="Whether the rule would send something.")
    fits_type: bool = Field(description="Whether it is for the event's type.")
    fits_source: bool = Field(description="Whether it is for the event's source.")
    conditions: list[CheckedCondition] = Field(description="Each condition, and whether it holds.")
    title: str
    body: str
    missing: list[str] = Field(description="Fields that the texts name and the event does not have.")
    lengths: list[Length]


@router.post("/preview", auth=Bearer("read"), response=RulePreview, summary="Preview a rule")
def preview_rule(request: ApiRequest, body: PreviewBody) -> HttpResponse:
    """Checks a rule and says what it would make of an event. Nothing is saved or sent."""
    user = request.auth.user
    rule, channels = described(body.rule, user, place="rule.")
    conditions = [Condition(**one) for one in rule.conditions]
    result = preview.outcome(rule.type_pattern, rule.source, conditions, rule.title, rule.body, _envelope(body, user))
    reading = text_preview.read(user, result.text, channels, None)
    return answer(
        fields_of(
            RulePreview,
            result,
            conditions=[_checked(*one) for one in result.conditions],
            title=reading.subject,
            body=reading.body,
            lengths=documents(Length, reading.lengths),
        )
    )


def _envelope(body: PreviewBody, user: User) -> dict[str, Any]:
    if body.event is not None:
        return body.event.model_dump()
    assert body.event_id is not None  # noqa: S101 - `_has_one`
    if (event := Event.objects.for_user(user).filter(key=body.event_id).first()) is None:
        raise invalid(FieldError("event_id", "You have no event with this id. Correct it, or give the event itself."))
    return as_sent(event)


def _checked(condition: Condition, unmet: Reason | None) -> dict[str, Any]:
    why = reason("", {}) if unmet is None else reason(unmet.code, unmet.params)
    return fields_of(CheckedCondition, condition, holds=unmet is None, reason=why)
