"""Pages of subscriptions, and of topics to subscribe to."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from common.database import paging
from events.models import Subscription, Topic
from events.topics import subscriptions
from events.topics.subscriptions import ChannelsForm
from notifications.messages.links import LEAVE
from notifications.models import Channel
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, person_action, person_form, person_page, posted

MOST_SHOWN = 500


@person_page
def subscription_list(request: PersonRequest) -> HttpResponse:
    own = list(Subscription.objects.for_user(request.user).current().select_related("topic__user")[:MOST_SHOWN])
    labels = dict(Channel.objects.for_user(request.user).values_list("id", "label"))
    others = Topic.objects.to_join(request.user).exclude(
        id__in=Subscription.objects.for_user(request.user).current().values("topic")
    )
    context = {
        "rows": [(one, [labels[key] for key in one.channel_ids if key in labels]) for one in own],
        "page": paging.page(others.select_related("user"), request.GET),
    }
    return render(request, "events/subscription_list.html", context)


@person_form
def subscribe(request: PersonRequest, topic_id: UUID) -> HttpResponse:
    topic = get_object_or_404(Topic.objects.to_join(request.user).select_related("user"), id=topic_id)
    own = Subscription.objects.for_user(request.user).current().filter(topic=topic).first()
    form = ChannelsForm(posted(request), request.user, own.channel_ids if own else ())
    if form.is_valid():
        subscriptions.join(request.user, topic, form.chosen)
        text = _("“%(name)s” is saved.") if own else _("You are subscribed to “%(name)s”.")
        messages.success(request, text % {"name": topic.name})
        return redirect("events:subscriptions")
    return render(request, "events/subscription.html", {"topic": topic, "own": own, "form": form})


@person_action
def leave(request: PersonRequest, topic_id: UUID) -> HttpResponse:
    own = get_object_or_404(Subscription.objects.for_user(request.user).select_related("topic"), topic=topic_id)
    subscriptions.leave(own.id)
    messages.success(request, _("You are no longer subscribed to “%(name)s”.") % {"name": own.topic.name})
    return redirect("events:subscriptions")


@signed_link_view(LEAVE)
def leave_by_link(request: HttpRequest, subscription_id: UUID) -> HttpResponse:
    """The link in each message of a topic, without signing in: it shows the topic, and nothing about its subscriber.

    A GET changes nothing, because programs open the links in emails. Mail services post here for their one-click button
    (RFC 8058).
    """
    if request.method == "POST":
        subscriptions.leave(subscription_id)
        if "List-Unsubscribe" not in request.POST:
            return redirect(request.path)
    # The row of a topic that was deleted is gone.
    subscription = Subscription.objects.select_related("topic").filter(id=subscription_id).first()
    return render(request, "events/leave.html", {"subscription": subscription})
