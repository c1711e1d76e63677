"""The address to which other services post. The address itself is the permission: no session, no CSRF."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from common import request_limiter
from events.inbound import receive

LARGEST = 256 * 1024


@csrf_exempt
@require_POST
def post(request: HttpRequest, secret: str) -> HttpResponse:
    """202 and the ids of the events once they are stored; else why not, in words."""
    address = receive.find(secret)
    verdict = request_limiter.check(request_limiter.by_address(request) if address is None else f"inbound:{address.id}")
    if not verdict.allowed:
        return JsonResponse({"allowed": False, "reset": verdict.reset}, status=429, headers=verdict.headers)
    if address is None:
        return JsonResponse({"detail": "There is no such address (any more)."}, status=404)
    if len(request.body) > LARGEST:
        return JsonResponse({"detail": f"This is larger than {LARGEST // 1024} KiB, the limit."}, status=413)
    answer = receive.receive(address, request.headers, request.body, timezone.now())
    if answer.status == 202:
        return JsonResponse({"ids": [str(key) for key in answer.keys]}, status=202)
    return JsonResponse({"detail": str(answer.reason)}, status=answer.status)
