"""What the pages have in common that open to whoever holds a signed link."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from notifications.links import SignedLink

View = Callable[[HttpRequest, UUID], HttpResponse]


def holder_of(link: SignedLink) -> Callable[[View], Callable[[HttpRequest, str], HttpResponse]]:
    """Give the view the id that the link's token names; what is not ours, or no more, gets a page that says so.

    What lets somebody act is the address itself, so no cookie is asked for (mail services have none: RFC 8058, 3.2),
    and the address is told to nobody: neither to other sites nor to search engines.
    """

    def decorate(view: View) -> Callable[[HttpRequest, str], HttpResponse]:
        @csrf_exempt
        @never_cache
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def of_the_holder(request: HttpRequest, token: str) -> HttpResponse:
            try:
                if (row_id := link.read(token)) is None:
                    raise Http404
                response = view(request, row_id)
            except Http404:
                response = render(request, "notifications/link_unknown.html", status=404)
            response["Referrer-Policy"] = "no-referrer"
            response["X-Robots-Tag"] = "noindex, nofollow"
            return response

        return of_the_holder

    return decorate
