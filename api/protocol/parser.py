"""Bodies: JSON in UTF-8, within a limit."""

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from api.protocol.problems import Problem
from common.parsing import strict_json

LARGEST = 256 * 1024


class StrictParser(Parser):
    """UTF-8 JSON without duplicate names, NUL, lone surrogates, or more than 32 levels."""

    def parse_body(self, request: HttpRequest) -> Any:
        return read(request, "application/json")


def read(request: HttpRequest, content_type: str) -> Any:
    """Raises problems 400, 413 and 415."""
    charset = (request.content_params or {}).get("charset", "utf-8").lower()
    if charset not in ("utf-8", "utf8") or (request.content_type or content_type) != content_type:
        raise Problem(415, "not-json", "This API takes JSON only.", "Send Content-Type: application/json, in UTF-8.")
    try:
        return strict_json.read(body(request), odd_numbers_as_text=getattr(request, "takes_odd_numbers", False))
    except strict_json.Bad as error:
        raise bad_json(error) from None


def body(request: HttpRequest) -> bytes:
    """Raises problems 413 and 415."""
    if request.headers.get("Content-Encoding", "identity") != "identity":
        headers = {"Accept-Encoding": "identity"}
        raise Problem(415, "encoded", "This body is compressed.", "Send it as it is.", headers=headers)
    if len(request.body) > LARGEST:
        raise Problem(413, "too-large", f"This body is larger than {LARGEST // 1024} KiB, the limit.", "Send less.")
    return request.body


def bad_json(error: strict_json.Bad) -> Problem:
    return Problem(400, "bad-json", "This body is not JSON that can be read.", str(error))
