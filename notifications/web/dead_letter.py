"""Send one's own dead letter again or as new, discard it, or mark it as fixed; recorded like an operator's act."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_POST

from notifications import dead_letters as own_letters
from notifications.models import Delivery
from people.requests import PersonRequest
from work import dead_letters
from work.dead_letters import Done, Who
from work.models import Intervention

_WHICH = "own dead letter"
_SAID = {
    "again": gettext_lazy("Sending again to “%(channel)s”."),
    "new": gettext_lazy("Sent as new to “%(channel)s”. Your history shows it."),
    "discard": gettext_lazy("Discarded. Nothing more is sent."),
    "fixed": gettext_lazy("Marked as fixed. Nothing more is sent."),
}


@login_required
@require_POST
def act(request: PersonRequest, delivery_id: UUID, what: str) -> HttpResponse:
    """`what` is one of `again`, `new`, `discard` and `fixed`."""
    own = Delivery.objects.for_user(request.user).select_related("channel", "notification")
    letter = get_object_or_404(own, id=delivery_id)
    if what in ("again", "new") and (obstacle := own_letters.obstacle(letter)):
        messages.error(request, _("Nothing was sent. %(obstacle)s") % {"obstacle": obstacle})
    elif _act(request, letter, what).changed:
        messages.success(request, _SAID[what] % {"channel": letter.channel.label})
    else:
        messages.info(request, _("It does not wait for you any more. Nothing changed."))
    page = reverse("notifications:notification", args=[letter.notification_id])
    return redirect(f"{page}#delivery-{letter.id}")


def _act(request: PersonRequest, letter: Delivery, what: str) -> Done:
    rows, who = Delivery.objects.filter(pk=letter.pk), Who(request.user.pk, request.user.email)
    if what == "again":
        return dead_letters.replay(rows, _WHICH, who, cause=letter.cause)
    if what == "new":
        return own_letters.send_as_new(rows, _WHICH, who, cause=letter.cause)
    if what == "discard":
        return dead_letters.discard(rows, _WHICH, who, "its owner does not need it any more.", cause=letter.cause)
    note = " ".join(request.POST.get("note", "").replace("\0", "").split())[:300] or "its owner says so."
    return dead_letters.discard(rows, _WHICH, who, note, cause=letter.cause, what=Intervention.What.FIXED)
