"""Pages of boards: what stands on one, and a form to write on it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from common.forms.not_possible import problem, shown_in
from common.parsing import strict_json
from common.redis import request_limiter
from notifications.deliveries import boards
from notifications.deliveries.boards import MessageForm
from notifications.models import Channel
from notifications.providers.board import Board
from people.access.requests import PersonRequest, person_form, person_page, posted

LARGEST = 64 * 1024
"""Bytes that a program may post."""


@person_page
def board_list(request: PersonRequest) -> HttpResponse:
    return render(request, "notifications/board_list.html", {"boards": boards.of_account(request.user)})


@person_form
def board(request: PersonRequest, board_id: UUID) -> HttpResponse:
    """The newest messages; a POST writes one, or with `replace` gives the board another inbound address."""
    own = Channel.objects.own(request.user, id=board_id, provider=Board.kind)
    if "replace" in request.POST:
        boards.replace_address(own)
        messages.success(request, _("The board has a new address. The old one takes nothing any more."))
        return redirect("notifications:board", own.id)
    form = MessageForm(posted(request))
    if form.is_valid():
        with shown_in(form):
            boards.write(own, request.user.actor, form.cleaned_data["text"])
            return redirect("notifications:board", own.id)
    if request.htmx:  # another line may follow; a page that has just come shows no keyboard on a phone
        form.fields["text"].widget.attrs["autofocus"] = True
    shown = boards.messages(own)
    context = {"board": own, "messages_shown": shown, "mark": boards.mark(shown), "form": form, "stored": boards.STORED}
    context["address"] = boards.address(own) if request.user.may_change else ""
    return render(request, "notifications/board.html", context)


@csrf_exempt
@require_POST
def receive(request: HttpRequest, secret: str) -> HttpResponse:
    """Write what a program posts: plain text, or the field `text` of JSON or a form. The address is the permission."""
    board = boards.addressed(secret)
    key = request_limiter.by_address(request) if board is None else f"board:{board.id}"
    verdict = request_limiter.check(key)
    if not verdict.allowed:
        return problem(429, "Too many messages within a minute. Try again later.", "too-many", **verdict.headers)
    if board is None:
        return problem(404, "There is no such address (any more).", "not-found")
    if int(request.META.get("CONTENT_LENGTH") or 0) > LARGEST or len(request.body) > LARGEST:
        return problem(413, f"This is larger than {LARGEST // 1024} KiB, the limit.", "too-large")
    try:
        form = MessageForm({"text": _text(request)})
    except strict_json.Bad as error:
        return problem(400, str(error), "not-read")
    if not form.is_valid():
        return problem(422, " ".join(map(str, form.errors["text"])), "invalid")
    if (written := boards.post(board.id, form.cleaned_data["text"])) is None:
        return problem(404, "There is no such address (any more).", "not-found")
    return JsonResponse({"id": written.id}, status=201)


def _text(request: HttpRequest) -> Any:
    """Raises Bad."""
    if request.body.lstrip().startswith(b"{"):
        sent = strict_json.read(request.body)
        return sent.get("text") if isinstance(sent.get("text"), str) else None
    if "text" in request.POST or request.content_type == "multipart/form-data":
        return request.POST.get("text")
    try:
        return request.body.decode()
    except UnicodeDecodeError as error:
        raise strict_json.Bad("not_utf8", number=str(error.start)) from None
