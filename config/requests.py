"""Requests as Carillon reads them: in UTF-8 only.

Django takes any codec that Python has, also those that read no text, and fails while it makes the request.
"""

from __future__ import annotations

from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.utils.http import parse_header_parameters

_READ = {"utf-8", "utf8", "us-ascii", "ascii"}


class _InUTF8:
    content_type: str | None
    content_params: dict[str, str] | None
    claims_other_charset = False

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, parameters = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        self.content_params = parameters
        self.claims_other_charset = parameters.get("charset", "utf-8").lower() not in _READ


class UTF8ASGIRequest(_InUTF8, ASGIRequest):
    pass


class UTF8WSGIRequest(_InUTF8, WSGIRequest):
    pass
