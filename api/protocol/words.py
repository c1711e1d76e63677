"""The sentences of wrong fields and parameters: what is allowed, for each kind of error that pydantic finds."""

from typing import Any

_NUMBER = "Write a whole number."
_SENTENCES = {
    "extra_forbidden": "There is no such field. Remove it, or correct its name.",
    "missing": "This field is required.",
    "greater_than_equal": "Write a number of at least {ge}.",
    "less_than_equal": "Write a number of at most {le}.",
    "int_parsing": _NUMBER,
    "int_parsing_size": "Write a smaller number.",
    "int_type": _NUMBER,
    "int_from_float": _NUMBER,
    "bool_parsing": "Write true or false.",
    "bool_type": "Write true or false.",
    "uuid_parsing": "Write an id as you have read it, such as 01890a5d-ac96-774b-bcce-b302099a8057.",
    "uuid_type": "Write an id as a text, such as 01890a5d-ac96-774b-bcce-b302099a8057.",
    "literal_error": "Write one of: {expected}.",
    "string_type": "Write a text.",
    "string_too_short": "Write at least {min_length} characters.",
    "string_too_long": "Write at most {max_length} characters.",
    "list_type": "Write a list.",
    "dict_type": "Write an object.",
    "model_type": "Write an object.",
    "model_attributes_type": "Write an object.",
}


def detail(error: dict[str, Any]) -> str:
    """What to do about an error of pydantic's; a validator of ours has its own sentence."""
    context = {name: f"{value:,}" if type(value) is int else value for name, value in error.get("ctx", {}).items()}
    if (known := _SENTENCES.get(error["type"])) is not None:
        return known.format(**context)
    message = str(error["msg"]).removeprefix("Value error, ")
    return message if message.endswith(".") else f"{message}."
