"""Pages of inbound addresses: make, change, look at the last requests, replay one."""

import json
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from common.database import encryption
from common.forms.not_possible import problem, shown_in
from common.parsing import strict_json
from common.redis import request_limiter, request_slots
from common.redis.request_slots import READ
from events.inbound import addresses, mapping, receive
from events.inbound.addresses import InboundForm, SampleForm
from events.inbound.mapping import InboundAnswer
from events.models import InboundAddress, InboundRequest
from events.reasons import EventCode
from people.access.requests import PersonRequest, made_once, person_action, person_form, person_page, posted

LARGEST = 256 * 1024


@person_page
def inbound_list(request: PersonRequest) -> HttpResponse:
    return render(request, "events/inbound_list.html", {"addresses": InboundAddress.objects.for_user(request.user)})


def _to_made(request: PersonRequest) -> HttpResponse:
    made = InboundAddress.objects.own(request.user, id=request.made_as)
    messages.success(request, _("“%(label)s” takes requests. Give its address to the sender.") % {"label": made.label})
    return redirect("events:inbound", made.id)


@person_form
@made_once(_to_made)
def inbound_new(request: PersonRequest) -> HttpResponse:
    form = InboundForm(posted(request))
    if form.is_valid():
        with shown_in(form):
            addresses.create(request.user, form, request.made_as)
            return _to_made(request)
    return render(request, "events/inbound_form.html", {"form": form})


@person_page
def inbound(request: PersonRequest, address_id: UUID) -> HttpResponse:
    address = InboundAddress.objects.own(request.user, id=address_id)
    try:
        url = addresses.url(address)
    except encryption.Unreadable:
        url = ""
    return render(request, "events/inbound_detail.html", {"address": address, "url": url})


@person_form
def inbound_edit(request: PersonRequest, address_id: UUID) -> HttpResponse:
    """Save, or show what the last request would become by what is typed."""
    address = InboundAddress.objects.own(request.user, id=address_id)
    form = InboundForm(posted(request), address=address)
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
            envelope, reason = mapping.event_of(address, headers, sample.cleaned_data["sample"])
            data = json.dumps(envelope.data, ensure_ascii=False, indent=2)
            context |= {"envelope": envelope, "reason": str(reason), "data": data}
    return render(request, "events/inbound_form.html", context)


@person_action
def inbound_replace(request: PersonRequest, address_id: UUID) -> HttpResponse:
    address = InboundAddress.objects.own(request.user, id=address_id)
    addresses.replace(address)
    messages.success(request, _("It has a new address. The old one takes nothing any more."))
    return redirect("events:inbound", address.id)


@person_action
def inbound_remove(request: PersonRequest, address_id: UUID) -> HttpResponse:
    address = InboundAddress.objects.own(request.user, id=address_id)
    addresses.remove(address)
    messages.success(request, _("“%(label)s” is removed. Its events stay.") % {"label": address.label})
    return redirect("events:inbound-list")


@person_action
def inbound_replay(request: PersonRequest, request_id: UUID) -> HttpResponse:
    own = InboundRequest.objects.select_related("address").filter(address__user=request.user)
    stored = get_object_or_404(own, id=request_id)
    answer = receive.replay(stored.address, stored)
    if answer.keys:
        return redirect("events:event", answer.keys[0])
    messages.error(request, _("No event came of it. %(reason)s") % {"reason": answer.reason})
    return redirect("events:inbound", stored.address_id)


@csrf_exempt
@require_POST
def inbound_post(request: HttpRequest, secret: str) -> HttpResponse:
    """Receive posts of other services. The address itself is the permission: no session, no CSRF.

    202 and the ids of the events once they are stored; else why not, in words.
    """
    address = receive.find(secret)
    detail = "Too many requests of this address' owner are in work. Send it again."
    refuse = partial(problem, 429, detail, "too-many-at-once")
    if address is not None and (busy := request_slots.enter(request, READ, address.user_id, refuse)) is not None:
        return busy
    verdict = request_limiter.check(request_limiter.by_address(request) if address is None else f"inbound:{address.id}")
    if not verdict.allowed:
        return JsonResponse({"allowed": False, "reset": verdict.reset}, status=429, headers=verdict.headers)
    if address is None:
        return _no_such_address()
    if len(request.body) > LARGEST:
        return problem(413, f"This is larger than {LARGEST // 1024} KiB, the limit.", "too-large")
    try:
        return _respond(receive.receive(address, request.headers, request.body, timezone.now()))
    except Http404:  # it was removed meanwhile
        return _no_such_address()


def _no_such_address() -> HttpResponse:
    return problem(404, "There is no such address (any more).", "not-found")


def _respond(answer: InboundAnswer) -> JsonResponse:
    reason = answer.reason
    if answer.status == 202:
        body: dict[str, Any] = {"ids": [str(key) for key in answer.keys]}
        if reason.code == EventCode.TOO_MANY_ALERTS:
            body |= {"left_out": reason.params["left_out"], "detail": str(reason)}
        return JsonResponse(body, status=202)
    response = problem(answer.status, str(reason), reason.code)
    if answer.wait:
        response["Retry-After"] = str(answer.wait)
    return response


def _text(stored: InboundRequest | None) -> str:
    """The body of a request, indented where it is JSON."""
    if stored is None:
        return '{"action": "paid", "amount": 12}'
    try:
        return json.dumps(strict_json.read(stored.body.encode()), ensure_ascii=False, indent=2)
    except strict_json.Bad:
        return stored.body
