"""Pages that a signed link in a message opens without signing in.

A GET changes nothing, because programs open the links in emails. Mail services post there for their one-click button
(RFC 8058).
"""

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.redis import request_limiter
from notifications.messages.links import SignedLink

View = Callable[[HttpRequest, UUID], HttpResponse]


def signed_link_view(link: SignedLink) -> Callable[[View], Callable[[HttpRequest, str], HttpResponse]]:
    """Pass the view the id in the link's token; an invalid or outdated link gets a page that says so.

    The link itself is the permission, so there is no CSRF check (mail services send no cookie: RFC 8058, 3.2), and
    headers keep it from other sites and search engines.
    """

    def decorate(view: View) -> Callable[[HttpRequest, str], HttpResponse]:
        @csrf_exempt
        @never_cache
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def checked(request: HttpRequest, token: str) -> HttpResponse:
            row_id = link.read(token)

            def respond() -> HttpResponse:
                try:
                    if row_id is None:
                        raise Http404
                    return view(request, row_id)
                except Http404:
                    return render(request, "notifications/link_unknown.html", status=404)

            # Mail services press the buttons of many people from one address.
            key = request_limiter.by_address(request) if row_id is None else f"link:{row_id}"
            response = request_limiter.limit_page(key, respond)
            response["Referrer-Policy"] = "no-referrer"
            response["X-Robots-Tag"] = "noindex, nofollow"
            return response

        return checked

    return decorate
