"""Pages of inbound addresses: make, change, look at the last requests, replay one."""

import json
from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.database import encryption
from common.parsing import strict_json
from common.redis import request_limiter, request_slots
from common.redis.request_slots import READ
from events.inbound import addresses, receive
from events.inbound.forms import InboundForm, SampleForm
from events.models import InboundAddress, InboundRequest
from people.access.requests import PersonRequest

LARGEST = 256 * 1024


@login_required
@require_safe
def inbound_list(request: PersonRequest) -> HttpResponse:
    found = InboundAddress.objects.for_user(request.user)
    return render(request, "events/inbound_list.html", {"addresses": found})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def inbound_new(request: PersonRequest) -> HttpResponse:
    form = InboundForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = addresses.create(request.user, form)
        except addresses.TooMany as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(
                request, _("“%(label)s” takes requests. Give its address to the sender.") % {"label": made.label}
            )
            return redirect("events:inbound", made.id)
    return render(request, "events/inbound_form.html", {"form": form})


@login_required
@require_safe
def inbound(request: PersonRequest, address_id: UUID) -> HttpResponse:
    address = _own(request, address_id)
    try:
        url = addresses.url(address)
    except encryption.Unreadable:
        url = ""
    return render(request, "events/inbound_detail.html", {"address": address, "url": url})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def inbound_edit(request: PersonRequest, address_id: UUID) -> HttpResponse:
    """Save, or show what the last request would become by what is typed."""
    address = _own(request, address_id)
    form = InboundForm(request.POST if request.method == "POST" else None, address=address)
    latest = address.requests.first()
    sample = SampleForm(request.POST if "preview" in request.POST else None, initial={"sample": _text(latest)})
    context = {"form": form, "address": address, "sample": sample}
    if form.is_valid():
        if "preview" not in request.POST:
            addresses.change(address, form)
            messages.success(request, _("“%(label)s” is saved.") % {"label": address.label})
            return redirect("events:inbound", address.id)
        if sample.is_valid():
            address.fields, headers = form.expressions(), latest.headers if latest else {}
            envelope, reason = receive.event_of(address, headers, sample.cleaned_data["sample"])
            data = json.dumps(envelope.data, ensure_ascii=False, indent=2)
            context |= {"envelope": envelope, "reason": str(reason), "data": data}
    return render(request, "events/inbound_form.html", context)


@login_required
@require_POST
def inbound_replace(request: PersonRequest, address_id: UUID) -> HttpResponse:
    address = _own(request, address_id)
    addresses.replace(address)
    messages.success(request, _("It has a new address. The old one takes nothing any more."))
    return redirect("events:inbound", address.id)


@login_required
@require_POST
def inbound_remove(request: PersonRequest, address_id: UUID) -> HttpResponse:
    address = _own(request, address_id)
    address.delete()
    messages.success(request, _("“%(label)s” is removed. Its events stay.") % {"label": address.label})
    return redirect("events:inbound-list")


@login_required
@require_POST
def inbound_replay(request: PersonRequest, request_id: UUID) -> HttpResponse:
    kept = get_object_or_404(
        InboundRequest.objects.select_related("address"), id=request_id, address__user=request.user
    )
    answer = receive.replay(kept.address, kept)
    if answer.keys:
        return redirect("events:event", answer.keys[0])
    messages.error(request, _("No event came of it. %(reason)s") % {"reason": answer.reason})
    return redirect("events:inbound", kept.address_id)


@csrf_exempt
@require_POST
def inbound_post(request: HttpRequest, secret: str) -> HttpResponse:
    """Receive posts of other services. The address itself is the permission: no session, no CSRF.

    202 and the ids of the events once they are stored; else why not, in words.
    """
    address = receive.find(secret)
    said = "Too many requests of this address' owner are in work. Send it again."
    refuse = partial(_problem, 429, said, "too-many-at-once")
    if address is not None and (busy := request_slots.enter(request, READ, address.user_id, refuse)) is not None:
        return busy
    verdict = request_limiter.check(request_limiter.by_address(request) if address is None else f"inbound:{address.id}")
    if not verdict.allowed:
        return JsonResponse({"allowed": False, "reset": verdict.reset}, status=429, headers=verdict.headers)
    if address is None:
        return _problem(404, "There is no such address (any more).", "not-found")
    if len(request.body) > LARGEST:
        return _problem(413, f"This is larger than {LARGEST // 1024} KiB, the limit.", "too-large")
    answer = receive.receive(address, request.headers, request.body, timezone.now())
    if answer.status == 202:
        ids = {"ids": [str(key) for key in answer.keys]}
        left_out = {"left_out": answer.left_out, "detail": str(answer.reason)} if answer.left_out else {}
        return JsonResponse(ids | left_out, status=202)
    response = _problem(answer.status, str(answer.reason), str(answer.reason.code))
    if answer.wait:
        response["Retry-After"] = str(answer.wait)
    return response


def _problem(status: int, detail: str, code: str) -> JsonResponse:
    document = {"title": HTTPStatus(status).phrase, "status": status, "code": code, "detail": detail}
    return JsonResponse(document, status=status, content_type="application/problem+json")


def _own(request: PersonRequest, address_id: UUID) -> InboundAddress:
    return get_object_or_404(InboundAddress.objects.for_user(request.user), id=address_id)


def _text(kept: InboundRequest | None) -> str:
    """The body of a request, indented where it is JSON."""
    if kept is None:
        return '{"action": "paid", "amount": 12}'
    try:
        return json.dumps(strict_json.read(kept.body.encode()), ensure_ascii=False, indent=2)
    except strict_json.Bad:
        return kept.body
