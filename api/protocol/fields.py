"""Types of the API's fields: instants, texts, and bodies that refuse what they do not know."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from copy import copy
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Self, TypeVar

from django import forms
from django.core import validators
from django.core.exceptions import ValidationError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PrivateAttr,
    StringConstraints,
    ValidationError as WrongFields,
    ValidatorFunctionWrapHandler,
    WithJsonSchema as Shown,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticKnownError

from api.protocol.words import MOST_ERRORS, FieldError, field_errors
from common.times.dates import rfc3339

Answer = TypeVar("Answer", bound=BaseModel)

_SHAPE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_EXAMPLE = "Write an instant with its offset from UTC, such as 2026-03-15T14:00:00Z."

CHOICES = ("(one)", "(list)")
"""Tags of a body that is one thing or a list of them; errors do not show them."""


_MOST_UNKNOWN = 10
_MOST_READ_ONLY = 30
_MOST_NAMES = 100
_REQUIRED = FieldInfo()


class Body(BaseModel):
    """A JSON body: no unknown fields, and no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _names_few_unknown(cls, given: Any) -> Any:
        """One error for many unknown fields: an object has room for 25,000, and each error costs much more than it."""
        unknown = [name for name in given if name not in cls.model_fields] if isinstance(given, dict) else []
        if len(unknown) > _MOST_UNKNOWN + (_MOST_READ_ONLY if cls.model_config["extra"] == "allow" else 0):
            named = ", ".join(f"“{name[:50]}”" for name in unknown[:_MOST_UNKNOWN])
            raise ValueError(f"There are no fields {named} and {len(unknown) - _MOST_UNKNOWN:,} more. Remove them.")
        return given


class FormBody(Body):
    """A body that an operation gives to a form; all that is wrong is told together: see `problems.require_valid`.

    It has what is well typed; what is not is as if it was not given, also where it is required.
    """

    _wrong: list[FieldError] = PrivateAttr(default_factory=list)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_the_well_typed(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(given)
        except WrongFields as error:
            if error.error_count() > MOST_ERRORS or not all(one["loc"] for one in error.errors()):
                raise
            wrong = error.errors()
        for one in wrong:
            given = _without(given, one["loc"])
        body: Self = _lenient(cls).model_validate(given)
        body._wrong = field_errors(wrong)
        return body

    @property
    def wrong(self) -> list[FieldError]:
        return self._wrong

    def is_wrong(self, path: str) -> bool:
        """Whether this is wrong already, or something within it or around it."""
        return any(f"{one.field}.".startswith(f"{path}.") or path.startswith(f"{one.field}.") for one in self._wrong)

    def refuse(self, *errors: FieldError) -> None:
        """Leaves out what may follow from something that is wrong already."""
        self._wrong += [one for one in errors if not self.is_wrong(one.field)]


def _without(given: dict[str, Any], location: tuple[Any, ...]) -> dict[str, Any]:
    """Without the innermost object's member that has the location, or that lacks it."""
    name, *inner = location
    value = given.get(name)
    if inner and isinstance(value, dict) and inner[0] in value:
        return given | {name: _without(value, tuple(inner))}
    return {other: one for other, one in given.items() if other != name}


@cache
def _lenient(body: type[Any]) -> Any:
    return body if issubclass(body, Partial) else create_model(f"Lenient{body.__name__}", __base__=(Partial, body))


class Replacement(FormBody):
    """A body that may also have members of the answer that are not fields of it: see `require_unchanged`."""

    model_config = ConfigDict(extra="allow")


class Partial(Body):
    """A body of which each field may be absent; null only where its type says so."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for field in cls.model_fields.values():
            if field.is_required():
                field.default = None
        cls.model_rebuild(force=True)


def shows(body: type[Body]) -> Callable[[type[Answer]], type[Answer]]:
    """Add the fields of `body` to a document, behind its `id`: each is there, and without the limits of input.

    Those that the document declares itself stay as it has them.
    """

    def with_fields(document: type[Answer]) -> type[Answer]:
        own, fields = dict(document.model_fields), document.model_fields
        fields.clear()
        fields["id"] = own["id"]
        for name, field in body.model_fields.items():
            shown = fields[name] = copy(field)
            shown.default, shown.default_factory, shown.json_schema_extra = _REQUIRED.default, None, None
        fields.update(own)
        document.model_rebuild(force=True)
        return document

    return with_fields


def _few_names(given: Any) -> Any:
    if isinstance(given, dict) and len(given) > _MOST_NAMES:
        raise ValueError(f"This has {len(given):,} fields; at most {_MOST_NAMES} are taken.")
    return given


FewNames = BeforeValidator(_few_names)
"""For an object whose names a form knows: each wrong one is an error."""


_LIMITS: dict[type, str] = {
    validators.MinValueValidator: "minimum",
    validators.MaxValueValidator: "maximum",
    validators.MinLengthValidator: "minLength",
    validators.MaxLengthValidator: "maxLength",
}


def limits(field: forms.Field) -> dict[str, Any]:
    """The values that a form's field takes, for the document; the form itself validates."""
    checks: list[Any] = field.validators
    choices: Any = getattr(field, "choices", None)
    result: dict[str, Any] = {_LIMITS[type(one)]: one.limit_value for one in checks if type(one) in _LIMITS}
    if type(field) is forms.ChoiceField and choices:
        result["enum"] = [value for value, _ in choices if value]
    elif isinstance(field, forms.SlugField):
        result["pattern"] = "^[-a-zA-Z0-9_]*$"
    return result


def limited(form: type[forms.Form] | type[forms.ModelForm[Any]]) -> ConfigDict:
    """For a body whose fields are those of the form: its schema says what they take."""

    def complete(schema: dict[str, Any]) -> None:
        for name, shown in schema["properties"].items():
            if name in form.base_fields:
                shown |= limits(form.base_fields[name]) | shown

    return ConfigDict(json_schema_extra=complete)


def written(instant: datetime | None) -> str | None:
    """An aware instant as RFC 3339 in UTC."""
    return None if instant is None else rfc3339(instant)


def read_instant(value: Any) -> datetime:
    """Raises ValueError with a sentence."""
    try:
        if not isinstance(value, str) or not _SHAPE.fullmatch(value):
            raise ValueError
        instant = datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(_EXAMPLE) from None
    if not 1900 <= instant.year < 9999:
        raise ValueError("Write an instant in the years 1900 to 9998, in UTC.")
    return instant


def require(holds: Callable[[Any], object], detail: str) -> AfterValidator:
    """Refuse a value for which this does not hold, with a sentence."""

    def checked(value: Any) -> Any:
        if not holds(value):
            raise ValueError(detail)
        return value

    return AfterValidator(checked)


def one_error(kind: Any, **context: str) -> WrapValidator:
    """For a choice of types: one error of pydantic's, instead of one for each of them, at a path that no body has."""

    def checked(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except WrongFields:
            raise PydanticKnownError(kind, context or None) from None

    return WrapValidator(checked)


Chosen = Annotated[str, require(len, "This is empty. Choose one, or leave it out.")]
"""One of the choices of a form, which takes an empty text for its default."""

NUL = "This contains the character NUL. Remove it."


def valid(check: Callable[[str], object]) -> AfterValidator:
    """Refuse a text that a validator of forms refuses, in its words."""

    def checked(text: str) -> str:
        try:
            check(text)
        except ValidationError as error:
            raise ValueError(" ".join(error.messages)) from None
        return text

    return AfterValidator(checked)


Instant = Annotated[
    datetime,
    BeforeValidator(read_instant),
    PlainSerializer(written),
    Shown(
        {
            "type": "string",
            "format": "date-time",
            "pattern": "^(19[0-9]{2}|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])-",  # as `read_instant`
            "examples": ["2026-03-15T14:00:00Z"],
        }
    ),
]
"""Read and written as RFC 3339; written in UTC, with `Z`."""


def one_of(values: Iterable[str]) -> Shown:
    """For a text of an answer, which has one of these values."""
    return Shown({"type": "string", "enum": [*map(str, values)]})


Texts = Annotated[list[str], FailFast()]
"""Only the first wrong item is named: a body has room for 100,000."""
Minutes = Annotated[list[int], FailFast()]

LARGEST_DATA = 16 * 1024


def small(largest: int, remedy: str) -> AfterValidator:
    """Refuse an object of more bytes than these, as JSON."""

    def checked(data: Any) -> Any:
        size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
        if size > largest:
            raise ValueError(f"This is {size:,} bytes long as JSON; at most {largest:,} are {remedy}.")
        return data

    return AfterValidator(checked)


Data = Annotated[dict[str, Any] | None, small(LARGEST_DATA, "kept. Send less")]
"""An object of the caller's own."""

Search = Annotated[str, StringConstraints(max_length=200), require(lambda text: "\0" not in text, NUL)]
