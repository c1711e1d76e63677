"""CloudEvents 1.0 (cloudevents.io) with its bindings to HTTP and JSON: read as our events. Pure.

An event of ours has the attributes `type`, `source` and `time`. Any others are in its data, as `cloudevent`.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from common.database import correlation
from common.parsing import strict_json
from common.texts.refusal import TEXTS, Refusal, noop as _
from events.pure.envelope import LONGEST_ID, LONGEST_SOURCE
from events.pure.matching import TYPE

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
REQUIRED = ("id", "source", "specversion", "type")
OTHERS = "cloudevent"
"""The field of the data with the attributes that an event of ours does not have."""

_PREFIX = "ce-"
_NAME = re.compile("[a-z0-9]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_URI_REFERENCE = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
_URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:{_URI_REFERENCE.pattern}")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(\s*;.*)?", re.ASCII)
_JSON = re.compile(r"(application|text)/json|[^/]+/[^/]+\+json", re.ASCII)
_LARGEST_INTEGER = 2**31
TEXTS.update(not_a_cloud_event=_("This is not a CloudEvent: correct “%(name)s”."))


class Malformed(Refusal):
    """`problems`: each attribute that is not as the specification says, and what it has to be."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("not_a_cloud_event", name=problems[0][0] or "(body)")
        self.problems = problems


def mode(content_type: str, headers: Mapping[str, str]) -> str:
    """The mode of a request: "structured", "batch", "binary", or "" where it is none. Names are in lower case."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in (STRUCTURED, BATCH):
        return "structured" if media_type == STRUCTURED else "batch"
    return "binary" if any(_PREFIX + name in headers for name in REQUIRED) else ""


def from_headers(headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """An event in binary mode, in the format of JSON. Raises strict_json.Bad."""
    event: dict[str, Any] = {
        name.removeprefix(_PREFIX): _unescaped(value) for name, value in headers.items() if name.startswith(_PREFIX)
    }
    content_type = headers.get("content-type", "")
    if content_type:
        event["datacontenttype"] = content_type
    if body and _is_json(content_type):
        event["data"] = strict_json.read(body, odd_numbers_as_text=True)
    elif body:
        event |= _content(body)
    return event


def read(event: Any) -> dict[str, Any]:
    """`type`, `id`, `source`, `data`, and if given `time`, `correlation_id` and `hops` of an event in JSON.

    Raises Malformed.
    """
    if not isinstance(event, dict):
        raise Malformed([("", "A CloudEvent is a JSON object.")])
    attributes = {name: value for name, value in event.items() if value is not None}
    if problems := list(_problems(attributes)):
        raise Malformed(problems)
    data = _data(attributes)
    given_type = attributes.pop("type")
    fields: dict[str, Any] = {name: attributes.pop(name) for name in ("id", "source", "time") if name in attributes}
    fields |= _chain(attributes)
    fields["type"] = _type(given_type)
    if fields["type"] != given_type:
        attributes["type"] = given_type
    del attributes["specversion"]
    if _is_json(attributes.get("datacontenttype", "")):
        attributes.pop("datacontenttype", None)
    return fields | {"data": {OTHERS: attributes} | data if attributes else data}


def _chain(attributes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Take the correlation id and the hops from the attributes; what is neither stays an attribute."""
    if re.fullmatch(correlation.TEXT, str(attributes.get("correlationid", ""))):
        yield "correlation_id", str(attributes.pop("correlationid"))
    if re.fullmatch("[0-9]{1,4}", str(attributes.get("hops"))):
        yield "hops", int(attributes.pop("hops"))


def key(source: str, id: str) -> str:
    """The identity of an event: two sources may use the same id. No source has a space."""
    return f"{source} {id}"


def _problems(attributes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in REQUIRED:
        if name not in attributes:
            yield name, "This attribute is required."
    for name, value in attributes.items():
        if name not in ("data", "data_base64") and (problem := _problem(name, value)):
            yield name, problem
    if "data_base64" in attributes and ("data" in attributes or _decoded(attributes["data_base64"]) is None):
        yield "data_base64", "Write bytes in base64, and no data beside them."


def _problem(name: str, value: Any) -> str:
    """Why a set attribute is malformed; "" if it is not."""
    if not _NAME.fullmatch(name):
        return "Write names of attributes in small letters and digits only."
    if name not in _SHAPES:
        return _problem_of_extension(value)
    shape, problem, longest = _SHAPES[name]
    if not isinstance(value, str) or not shape.fullmatch(value) or _CONTROL.search(value):
        return problem
    return f"Write at most {longest} characters." if len(value) > longest else ""


def _problem_of_extension(value: Any) -> str:
    """The same for an attribute that the specification does not have."""
    if not isinstance(value, bool | int | str) or (type(value) is int and abs(value) > _LARGEST_INTEGER):
        return "Write a text, true, false, or a whole number of 32 bits."
    return "This contains a control character. Remove it." if _CONTROL.search(str(value)) else ""


_ANY = re.compile(r".+", re.DOTALL)
_TEXT = "Write a text that is not empty and has no control characters."
_LONGEST = 1_000
_SHAPES = {
    "id": (_ANY, _TEXT, LONGEST_ID),
    "type": (_ANY, _TEXT, 100),
    "subject": (_ANY, _TEXT, _LONGEST),
    "time": (_ANY, _TEXT, _LONGEST),
    "specversion": (re.compile(r"1\.0"), "Only the version 1.0 is taken.", _LONGEST),
    "source": (_URI_REFERENCE, "Write a URI or a part of one, such as /shop.", LONGEST_SOURCE),
    "dataschema": (_URI, "Write an absolute URI.", _LONGEST),
    "datacontenttype": (_MEDIA_TYPE, "Write a media type, such as application/json.", _LONGEST),
}
"""Of each attribute of the specification: its shape, what to write, and the most characters."""


def _type(given: str) -> str:
    """As our types are written: `Order.Paid` is `order.paid`."""
    name = re.sub("[^a-z0-9_.-]+", "-", given.lower())
    return name if TYPE.fullmatch(name) else f"{OTHERS}.{name.replace('.', '-')}"


def _data(attributes: dict[str, Any]) -> dict[str, Any]:
    """Take the data from the attributes, as an object."""
    if "data_base64" in attributes:
        raw = _decoded(attributes.pop("data_base64")) or b""
        content = _content(raw)
        if _is_json(attributes.get("datacontenttype", "")):
            with suppress(strict_json.Bad):
                content = {"data": strict_json.read(raw, odd_numbers_as_text=True)}
        if "data_base64" in content:
            return content
        attributes |= content
    data = attributes.pop("data", {})
    return data if isinstance(data, dict) else {"body": data}


def _content(body: bytes) -> dict[str, str]:
    """A body that is not JSON as `data`, or as `data_base64` where it is not text."""
    with suppress(UnicodeDecodeError):
        if "\0" not in (text := body.decode()):
            return {"data": text}
    return {"data_base64": base64.b64encode(body).decode()}


def _decoded(text: Any) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        return None


def _is_json(content_type: str) -> bool:
    """Also where nothing is said."""
    media_type = content_type.partition(";")[0].strip().lower()
    return not media_type or _JSON.fullmatch(media_type) is not None


def _unescaped(value: str) -> str:
    """The value of a header: in quotes or not, with percent-encoded UTF-8."""
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    return unquote(value)
