"""Read JSON bodies strictly: what a lenient parser would silently change is refused with a reason."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from api.problems import Problem
from common import strict_json

LARGEST = 256 * 1024


class StrictParser(Parser):
    """UTF-8 JSON without duplicate names, NUL, lone surrogates, NaN, or more than 32 levels."""

    def parse_body(self, request: HttpRequest) -> Any:
        content_type = request.content_type or "application/json"
        charset = (request.content_params or {}).get("charset", "utf-8").lower()
        if charset not in ("utf-8", "utf8") or content_type != "application/json":
            raise Problem(
                415, "not-json", "This API takes JSON only.", "Send Content-Type: application/json, in UTF-8."
            )
        if len(request.body) > LARGEST:
            raise Problem(413, "too-large", f"This body is larger than {LARGEST // 1024} KiB, the limit.", "Send less.")
        try:
            return strict_json.read(request.body)
        except strict_json.Bad as error:
            raise Problem(400, "bad-json", "This body is not JSON that can be read.", str(error)) from None
