"""Pages of boards: what stands on one, and a form to write on it."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from notifications.deliveries import boards
from notifications.deliveries.boards import BoardRefused, MessageForm
from people.access.requests import PersonRequest, person_form, person_page, posted


@person_page
def board_list(request: PersonRequest) -> HttpResponse:
    return render(request, "notifications/board_list.html", {"boards": boards.of_account(request.user)})


@person_form
def board(request: PersonRequest, board_id: UUID) -> HttpResponse:
    """The newest messages; a POST writes one."""
    own = get_object_or_404(boards.of_account(request.user), id=board_id)
    form = MessageForm(posted(request))
    if form.is_valid():
        try:
            boards.write(own, request.user.actor, form.cleaned_data["text"])
        except BoardRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            return redirect("notifications:board", own.id)
    shown = boards.messages(own)
    return render(
        request,
        "notifications/board.html",
        {"board": own, "messages_shown": shown, "mark": boards.mark(shown), "form": form, "stored": boards.STORED},
    )
