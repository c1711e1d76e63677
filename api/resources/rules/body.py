"""The body of a rule: its shape here, its validity by the form that the pages use."""

from collections.abc import Iterable
from typing import Annotated, Any
from uuid import UUID

from pydantic import FailFast, Field

from api.protocol.fields import Body, Texts, limited
from api.protocol.problems import FieldError, errors, invalid
from api.resources.rules import document
from events.inputs.conditions_field import LONGEST_VALUE, MOST_CONDITIONS
from events.inputs.rule_form import RuleForm
from events.models import Rule
from events.pure import matching
from events.reasons import OPERATORS
from events.rules.changes import PLAIN
from notifications.inputs.channels_form import IN_ORDER
from notifications.messages import text
from notifications.models import Channel
from people.models import User

_EXAMPLE: Any = {
    "name": "Big orders",
    "type_pattern": "order.*",
    "conditions": [{"field": "data.amount", "operator": "above", "value": 100}],
    "title": "Order {data.order_id}",
    "body": "{data.amount} EUR from {source}",
    "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "throttle_count": 3,
    "throttle_seconds": 3_600,
}


class ConditionBody(Body):
    field: str = Field(
        description=f"A path such as `data.amount`, or one of {', '.join(matching.PLACES)}.",
        json_schema_extra={"pattern": f"^({'|'.join(matching.PLACES)}|{matching.PATH.pattern})$"},
    )
    operator: str = Field(json_schema_extra={"enum": [*OPERATORS]})
    value: str | int | float | bool | None = Field(
        "", description=f"Kept as text of at most {LONGEST_VALUE} characters, and compared by what it says."
    )


class RuleBody(Body):
    model_config = limited(RuleForm, _EXAMPLE)

    name: str = Field(json_schema_extra={"minLength": 1})
    type_pattern: str = Field(
        description="`order.paid`, `order.*` for what begins so, or `*` for every event.",
        json_schema_extra={"pattern": f"^({matching.PATTERN.pattern})$"},
    )
    source: str = Field("", description="Only events from this source; empty: from anywhere.")
    conditions: Annotated[list[ConditionBody], FailFast()] = Field(
        [], description="All must hold.", json_schema_extra={"maxItems": MOST_CONDITIONS}
    )
    title: str = Field(description="Placeholders as in `body`.", json_schema_extra={"minLength": 1})
    body: str = Field(
        "",
        description="Placeholders: {type}, {source}, {time}, {id}, and {data.…} for a field.",
        json_schema_extra={"maxLength": text.MAX_BODY},
    )
    channels: Texts = Field(description="Ids of your channels.", json_schema_extra={"minItems": 1})
    in_order: bool = Field(False, description="Try the channels one after the other, in the order given.")
    escalate_after: int | None = Field(
        None, description="With in_order: minutes without an acknowledgement until the next channel is tried."
    )
    urgent: bool = Field(False, description="Also sent during your quiet hours.")
    throttle_count: int | None = Field(None, description="Ring at most so often in `throttle_seconds`.")
    throttle_seconds: int | None = Field(None)
    digest_seconds: int | None = Field(None, description="One message for all events of so long.")
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


class RulePatch(RuleBody):
    """Fields that are not given stay as they are."""

    model_config = limited(RuleForm, {"throttle_count": 1})

    name: str = Field(None)  # type: ignore[assignment]  # absent, never null
    type_pattern: str = Field(None)  # type: ignore[assignment]
    title: str = Field(None)  # type: ignore[assignment]
    channels: Texts = Field(None)  # type: ignore[arg-type]


def described(
    body: RuleBody, user: User, rule: Rule | None = None, place: str = "", also: Iterable[UUID] = ()
) -> tuple[Rule, list[Channel]]:
    """The rule, not saved, and its channels: a new one, or what `body` makes of `rule`. Raises a 422 problem.

    What a patch does not give stays. `place` stands before the names of fields in errors; channels in `also` may be
    used before they are confirmed.
    """
    is_patch = isinstance(body, RulePatch)
    given = body.model_fields_set if is_patch else RuleBody.model_fields.keys()
    fields: dict[str, Any] = {"version": rule.version} if rule else {}
    if rule and is_patch:
        fields |= {name: getattr(rule, name) for name in PLAIN} | {"conditions": document.conditions(rule)}
    fields |= body.model_dump(include={*PLAIN, "channels"} & given)
    in_order = body.in_order if "in_order" in given else bool(rule and rule.channel_order)
    fields |= {"one_by_one": IN_ORDER} if in_order else {}
    form = RuleForm(fields, user=user, rule=rule, also=also)
    fields.setdefault("channels", form.initial["channels"])  # the form has read those that stay
    if not form.is_valid():
        raise invalid(*_errors(form, place))
    return form.as_rule(), form.ordered()


def _errors(form: RuleForm, place: str) -> list[FieldError]:
    found = []
    for one in errors(form, called=lambda name: {"one_by_one": "in_order", "__all__": ""}.get(name, name)):
        path, code = one.field, one.code
        if "." in code:  # of a row of the conditions
            row, code = code.rsplit(".", 1)
            path = f"conditions.{row}"
        found.append(FieldError(place + path, one.detail, code))
    return found
