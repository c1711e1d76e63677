"""The sentences of wrong fields and parameters: what is allowed, for each kind of error that pydantic finds.

The API speaks English; the page of an import, the language of its reader.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

UNKNOWN = _("There is no such field. Remove it, or correct its name.")
_NUMBER = _("Write a whole number.")
_SENTENCES = {
    "extra_forbidden": UNKNOWN,
    "missing": _("This field is required."),
    "greater_than_equal": _("Write a number of at least {ge}."),
    "less_than_equal": _("Write a number of at most {le}."),
    "int_parsing": _NUMBER,
    "int_parsing_size": _("Write a smaller number."),
    "int_type": _NUMBER,
    "int_from_float": _NUMBER,
    "bool_parsing": _("Write true or false."),
    "bool_type": _("Write true or false."),
    "uuid_parsing": _("Write an id as you have read it, such as 01890a5d-ac96-774b-bcce-b302099a8057."),
    "uuid_type": _("Write an id as a text, such as 01890a5d-ac96-774b-bcce-b302099a8057."),
    "literal_error": _("Write one of: {expected}."),
    "enum": _("Write one of: {expected}."),
    "string_type": _("Write a text."),
    "empty": _("This is empty. Write at least one character."),
    "string_too_short": _("Write at least {min_length} characters."),
    "string_too_long": _("Write at most {max_length} characters."),
    "list_type": _("Write a list."),
    "too_short": _("This list is empty. Write at least one item."),
    "too_long": _("This list is too long. Write at most {max_length} items."),
    "dict_type": _("Write an object."),
    "model_type": _("Write an object."),
    "model_attributes_type": _("Write an object."),
}


MOST_ERRORS = 50
"""Shown at most: a body can have 100,000 wrong fields, and each error is longer than its field."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """`field` is the path in the body, such as `timing.dailyTime.hour`; or a parameter, such as `query.limit`.

    `code` names the violated rule, for programs.
    """

    field: str
    detail: str
    code: str = ""


def field_errors(errors: Iterable[Any]) -> list[FieldError]:
    """Those of pydantic."""
    return [FieldError(".".join(map(str, one["loc"])) or "(body)", detail(one), one["type"]) for one in errors]


def detail(error: dict[str, Any]) -> str:
    """The remedy for an error of pydantic's; a validator of ours has its own sentence."""
    context = {name: f"{value:,}" if type(value) is int else value for name, value in error.get("ctx", {}).items()}
    kind = "empty" if error["type"] == "string_too_short" and context["min_length"] == "1" else error["type"]
    if (sentence := _SENTENCES.get(kind)) is not None:
        return str(sentence).format(**context)
    message = str(error["msg"]).removeprefix("Value error, ")
    return message if message.endswith(".") else f"{message}."
