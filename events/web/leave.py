"""The link in each message of a topic that ends the subscription, without signing in.

A GET changes nothing, because programs open the links in emails. Mail services post here for their one-click button
(RFC 8058).
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from events import subscriptions
from events.models import Subscription
from notifications.links import LEAVE
from notifications.web.signed_link import signed_link_view


@signed_link_view(LEAVE)
def by_link(request: HttpRequest, subscription_id: UUID) -> HttpResponse:
    """It shows the topic, and nothing about its subscriber."""
    if request.method == "POST":
        subscriptions.leave(subscription_id)
        if "List-Unsubscribe" not in request.POST:
            return redirect(request.path)
    # The row of a topic that was deleted is gone.
    found = Subscription.objects.select_related("topic").filter(id=subscription_id).first()
    return render(request, "events/leave.html", {"subscription": found})
