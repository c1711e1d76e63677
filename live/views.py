"""The request that becomes a socket."""

import re
from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from wsproto.utilities import generate_accept_token

from common.admin.base import as_uuid
from live.hub import HUB
from live.socket import Socket
from notifications.deliveries import boards

_KEY = re.compile(r"[A-Za-z0-9+/]{22}==")


@require_safe
def socket(request: HttpRequest) -> HttpResponse:
    """Open a socket of who is signed in. Only pages of our own may: a browser sends its cookie for any."""
    key = request.headers.get("Sec-WebSocket-Key", "")
    is_upgrade = request.headers.get("Upgrade", "").lower() == "websocket"
    if not (is_upgrade and request.headers.get("Sec-WebSocket-Version") == "13" and _KEY.fullmatch(key)):
        refusal = _refusal(426, "This address takes WebSockets only.")
        refusal["Upgrade"], refusal["Sec-WebSocket-Version"] = "websocket", "13"
        refusal["Connection"] = "Upgrade, close"
        return refusal
    own = {f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS}
    if request.headers.get("Origin") not in own:
        return _refusal(403, "Only pages of this site may open sockets.")
    session = request.session.session_key
    if not request.user.is_authenticated or session is None:
        return _refusal(401, "Sign in first.")
    board = as_uuid(request.GET.get("board", ""))
    if "board" in request.GET and not boards.of_account(request.user).filter(id__in=[board]).exists():
        return _refusal(404, "There is no such board.")
    person = request.user.actor.pk
    if HUB.is_full(person):
        return _refusal(429, "You have too many open pages. Close some.")
    response = HttpResponse(status=101)
    response["Upgrade"], response["Connection"] = "websocket", "Upgrade"
    response["Sec-WebSocket-Accept"] = generate_accept_token(key.encode()).decode()
    response.socket = partial(Socket, request.user.pk, session, HUB, person, board)  # type: ignore[attr-defined]  # see config.asgi
    return response


def _refusal(status: int, text: str) -> HttpResponse:
    response = HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
    response["Connection"] = "close"  # what a client has sent after the request is not another request
    return response
