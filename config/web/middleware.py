"""Middleware for every request: charset, caching, compression of pages and the Content-Security-Policy."""

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import BadRequest
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponsePermanentRedirect
from django.http.request import split_domain_port
from django.middleware.gzip import GZipMiddleware
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import parse_header_parameters

from api.protocol.problems import Problem

_CHARSETS = {"utf-8", "utf8", "us-ascii", "ascii"}
# Where the form "Sign in with …" leads.
_OF_THE_PROVIDER = ["/".join(settings.OIDC.issuer.split("/")[:3])] if settings.OIDC else []
# Nothing inline, nothing from other hosts.
_DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "media-src": "'self'",
    # Browsers apply it to where a form's response leads, too.
    "form-action": " ".join(["'self'", *_OF_THE_PROVIDER]),
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
}
# The admin uses Alpine.js, which compiles expressions and writes style attributes. It has no inline script or style.
_OF_THE_ADMIN = {"script-src": "'self' 'unsafe-eval'", "style-src-attr": "'unsafe-inline'"}


def _policy(directives: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


POLICY, _ADMIN_POLICY = _policy(_DIRECTIVES), _policy(_DIRECTIVES | _OF_THE_ADMIN)


class UTF8Request(ASGIRequest):
    """A request that is always read as UTF-8. Django takes any codec of Python, and fails on those not for text."""

    claims_other_charset = False

    def get_host(self) -> str:
        """The host, which must be allowed; on health checks any is, because load balancers ask by address."""
        if self.path in ("/healthz", "/healthz/clock", "/healthz/queues"):
            return urlsplit(settings.BASE_URL).netloc
        return super().get_host()

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        self.claims_other_charset = self.content_params.get("charset", "utf-8").lower() not in _CHARSETS


class UTF8Only(MiddlewareMixin):
    """Answer 400 to a request that claims another charset."""

    def process_request(self, request: HttpRequest) -> None:
        # The API has a problem document for it.
        if getattr(request, "claims_other_charset", False) and not request.path.startswith("/api/"):
            raise BadRequest("The charset of a request must be UTF-8.")


class EncryptedOnly(MiddlewareMixin):
    """Refuse what programs and forms send without TLS, where BASE_URL is https. Only pages are redirected.

    A redirect would hide that a token, or the secret in an address, is readable on the way.
    """

    _SECRET = ("/api/", "/in/", "/calendar/")

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if not settings.SECURE_SSL_REDIRECT or request.is_secure():
            return None
        if request.method in ("GET", "HEAD") and not (
            "Authorization" in request.headers or request.path.startswith(self._SECRET)
        ):
            return None  # SecurityMiddleware redirects it
        detail = f"Use {settings.BASE_URL}. Others may have read what was sent: replace a token that it held."
        if request.path.startswith("/api/"):
            return Problem(403, "not-encrypted", "This request was not encrypted.", detail).response()
        return HttpResponse(
            f"This request was not encrypted. {detail}\n", status=403, content_type="text/plain; charset=utf-8"
        )


class MovedHost(MiddlewareMixin):
    """Send a browser that follows a link of an old host (OLD_HOSTS) to the present one.

    What programs send is taken at both: they may follow no redirect.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        is_page = request.method in ("GET", "HEAD") and not request.path.startswith(("/api/", "/healthz", "/metrics"))
        if not settings.OLD_HOSTS or not is_page:
            return None
        if split_domain_port(request.get_host())[0] not in settings.OLD_HOSTS:
            return None
        return HttpResponsePermanentRedirect(f"{settings.BASE_URL}{request.get_full_path()}", preserve_request=True)


class PrivatePages(MiddlewareMixin):
    """Forbid browsers and proxies to store pages, and clear what a browser has stored when its session ends.

    Static files are answered before. A calendar's file may be kept by the program that reads it, which asks with its
    ETag.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.get("Cache-Control") != "private":
            patch_cache_control(response, private=True, no_store=True)
        session = response.cookies.get(settings.SESSION_COOKIE_NAME)
        if session is not None and not session.value:  # Django deletes the cookie
            response["Clear-Site-Data"] = '"cache"'
        return response


class Compression(GZipMiddleware):
    """Compress pages. Not streams, which are zips, nor what has an ETag: compressed, `If-Match` would never fit it."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        may_be_stored = response.has_header("ETag") or response.streaming
        return response if may_be_stored else super().process_response(request, response)


class ContentSecurityPolicy(MiddlewareMixin):
    """The policy of every response."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not (settings.DEBUG and response.status_code in (404, 500)):  # Django's own pages have inline styles
            response["Content-Security-Policy"] = _ADMIN_POLICY if request.path.startswith(_admin()) else POLICY
        return response


@cache
def _admin() -> str:
    return reverse("admin:index")
