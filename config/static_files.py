"""Static files, straight from the source folders."""

from __future__ import annotations

from contextlib import nullcontext
from io import BytesIO
from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise ships no types
    """WhiteNoise answers with a stream that is read synchronously. Under ASGI, Django reads such a stream whole before
    it sends anything, and warns of it; so each file is read whole here, which is the same work without the warning."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        with found.file or nullcontext(BytesIO()) as file:
            answer = HttpResponse(file.read(), status=int(found.status))
        del answer["Content-Type"]
        for name, value in found.headers:
            answer[name] = value
        return answer
