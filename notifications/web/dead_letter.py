"""Send one's own dead letter again or as new, discard it, or mark it as fixed; recorded like an operator's act."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_POST

from notifications.deliveries import dead_letters
from notifications.deliveries.dead_letters import What
from notifications.models import Delivery
from people.access.requests import PersonRequest

_SAID = {
    What.REPLAYED: gettext_lazy("Sending again to “%(channel)s”."),
    What.AS_NEW: gettext_lazy("Sent as new to “%(channel)s”. Your history shows it."),
    What.DISCARDED: gettext_lazy("Discarded. Nothing more is sent."),
    What.FIXED: gettext_lazy("Marked as fixed. Nothing more is sent."),
}


@login_required
@require_POST
def act(request: PersonRequest, delivery_id: UUID, what: What) -> HttpResponse:
    own = Delivery.objects.for_user(request.user).select_related("channel", "notification")
    letter = get_object_or_404(own, id=delivery_id)
    note = " ".join(request.POST.get("note", "").replace("\0", "").split())[:300]
    if what in (What.REPLAYED, What.AS_NEW) and (obstacle := dead_letters.obstacle(letter)):
        messages.error(request, _("Nothing was sent. %(obstacle)s") % {"obstacle": obstacle})
    elif dead_letters.act(letter, what, request.user, note).changed:
        messages.success(request, _SAID[what] % {"channel": letter.channel.label})
    else:
        messages.info(request, _("It does not wait for you any more. Nothing changed."))
    page = reverse("notifications:notification", args=[letter.notification_id])
    return redirect(f"{page}#delivery-{letter.id}")
