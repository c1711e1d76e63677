"""The Content-Security-Policy: our own pages need no exception, the admin needs the two that its face does."""

from __future__ import annotations

from typing import Any

from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse

# Unfold is driven by Alpine.js, which compiles expressions in attributes and writes style attributes. No page of it
# holds a script or a style sheet of its own: a text that got into one unescaped could add neither.
_ADMIN: dict[str, Any] = {
    "script-src": [SELF, UNSAFE_EVAL],
    "style-src": [SELF],
    "style-src-attr": [UNSAFE_INLINE],
}


class Policy(CSPMiddleware):
    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path.startswith(reverse("admin:index")):
            parts.replace = _ADMIN
        return parts
