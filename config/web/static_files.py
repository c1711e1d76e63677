"""Static files from their source folders: compressed, under names that change with their content, kept for a year.

`ManifestStaticFilesStorage` would need `collectstatic`, and a folder that the process may write to, before each start.
"""

import re
from contextlib import nullcontext
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from posixpath import splitext
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from whitenoise.compress import Compressor
from whitenoise.middleware import WhiteNoiseMiddleware

_compresses = Compressor(quiet=True).should_compress


class HashedNames(StaticFilesStorage):
    """Addresses with a hash of the content: `carillon.css` becomes `carillon.1f0b5c2e9a7d.css`.

    Under DEBUG, where files change while the process runs, they keep their names.
    """

    def url(self, name: str | None) -> str:
        return super().url(name if settings.WHITENOISE_AUTOREFRESH or not name else _hashed(name))


@cache
def _hashed(name: str) -> str:
    source = finders.find(name)
    if source is None or not Path(source).is_file():
        return name
    stem, extension = splitext(name)
    return f"{stem}.{sha256(Path(source).read_bytes()).hexdigest()[:12]}{extension}"


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise ships no types
    """Answers for static files by both names, each read whole. A browser keeps one with a hash without asking again.

    WhiteNoise returns a synchronous stream. Under ASGI, Django reads it whole as well, and logs a warning.
    """

    FOREVER = 365 * 24 * 3600  # seconds

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info not in self.files:
            # While versions are mixed, a page of one asks a process of the other: better its file than none.
            plain = re.sub(r"\.[0-9a-f]{12}(?=\.\w+$)", "", request.path_info)
            if plain in self.files:
                return self.serve(self.files[plain], request)
        return super().__call__(request)

    def add_file_to_dictionary(self, url: str, path: str, stat_cache: Any = None) -> None:
        hashed = self.static_prefix + _hashed(url.removeprefix(self.static_prefix))
        for address in {url, hashed}:
            super().add_file_to_dictionary(address, path, stat_cache)

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        answer = static_file.get_response(request.method, request.META)
        with answer.file or nullcontext(BytesIO()) as file:
            response = HttpResponse(file.read(), status=int(answer.status))
        del response["Content-Type"]
        for name, value in answer.headers:
            response[name] = value
        # Our middleware compresses what has no ETag, which would name other bytes; Last-Modified serves both.
        if response.status_code == 200 and answer.file and _compresses(answer.file.name):
            del response["ETag"]
        return response
