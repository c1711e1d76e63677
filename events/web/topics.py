"""One's own topics: list, make, edit, delete, and add people; those of others: subscribe and leave."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from common.database import paging, postgres
from common.forms import edit_form
from common.forms.edit_form import Differences
from common.forms.not_possible import shown_in
from events.models import Subscription, Topic
from events.topics import changes, subscriptions
from events.topics.changes import AddressForm, TopicForm
from events.topics.subscriptions import ChannelsForm
from notifications.messages.links import LEAVE
from notifications.models import Channel
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, person_action, person_form, person_page, posted

_EVENTS = 5


@person_page
def topic_list(request: PersonRequest) -> HttpResponse:
    own = changes.with_subscribers(Topic.objects.for_user(request.user))
    rows = [(topic, changes.shown_count(topic.subscribers)) for topic in own]  # type: ignore[attr-defined]
    return render(request, "events/topic_list.html", {"rows": rows})


@person_form
def new(request: PersonRequest) -> HttpResponse:
    form = TopicForm(posted(request), request.user)
    if form.is_valid():
        with shown_in(form):
            topic = changes.create(form)
            messages.success(request, _("“%(name)s” is ready. Publish to it, or add people.") % {"name": topic.name})
            return redirect("events:topic", topic.id)
    return render(request, "events/topic_form.html", {"form": form})


@person_form
def detail(request: PersonRequest, topic_id: UUID) -> HttpResponse:
    """The topic, and on POST somebody to add."""
    topic = _own(request, topic_id)
    form = AddressForm(posted(request))
    if form.is_valid():
        address = form.cleaned_data["address"]
        with shown_in(form, "address"):
            subscriptions.add(topic, address)
            text = _("%(address)s is added. If an account has this address, it is subscribed now.")
            messages.success(request, text % {"address": address})
            return redirect("events:topic", topic.id)
    context = {
        "topic": topic,
        "subscribers": changes.shown_count(topic.subscribers),  # type: ignore[attr-defined]
        "form": form,
        "page": paging.page(Subscription.objects.filter(topic=topic).exclude(address=""), request.GET),
        "events": topic.events.select_related("batch").order_by("-id")[:_EVENTS],
    }
    return render(request, "events/topic.html", context)


@person_form
def edit(request: PersonRequest, topic_id: UUID) -> HttpResponse:
    topic = _own(request, topic_id)
    name = topic.name
    form = TopicForm(posted(request), request.user, topic)
    changed = None
    if form.is_valid() and (changed := save(request, form)) is None:
        return redirect("events:topic", topic.id)
    context = {"form": form, "topic": topic, "name": name, "differences": changed}
    return render(request, "events/topic_form.html", context, status=409 if changed else 200)


def save(request: PersonRequest, form: Any) -> Differences | None:
    """Save a valid form, and say so. If somebody has changed the row since, return the differences instead."""
    try:
        messages.success(request, _("“%(name)s” is saved.") % {"name": edit_form.save(form).name})
    except ObjectDoesNotExist:
        raise Http404 from None
    except edit_form.VersionConflict as conflict:
        changed = _differences(conflict.current, form)
        # Saving again overwrites.
        form.data = request.POST.dict() | {"version": str(conflict.current.version)}
        return changed
    return None


def _differences(current: Model, form: Any) -> Differences:
    def shown(name: str, value: Any) -> str:
        if isinstance(value, bool):
            return _("Yes") if value else _("No")
        return str(dict(getattr(form.fields[name], "choices", ())).get(value, value))

    return [
        (str(form[name].label), shown(name, getattr(current, name)), shown(name, form.cleaned_data[name]))
        for name in form._meta.fields or ()
        if name in form.fields
    ]


@person_form
def delete(request: PersonRequest, topic_id: UUID) -> HttpResponse:
    topic = _own(request, topic_id)
    if request.method == "POST":
        postgres.delete(topic)
        messages.success(request, _("“%(name)s” is deleted, with its subscriptions.") % {"name": topic.name})
        return redirect("events:topics")
    context = {"topic": topic, "subscribers": changes.shown_count(topic.subscribers)}  # type: ignore[attr-defined]
    return render(request, "events/topic_delete.html", context)


@person_action
def remove_person(request: PersonRequest, topic_id: UUID, subscription_id: UUID) -> HttpResponse:
    topic = _own(request, topic_id)
    if not subscriptions.remove(topic, subscription_id):
        raise Http404
    messages.success(request, _("Removed. Nothing more of this topic is sent to them."))
    return redirect("events:topic", topic.id)


def _own(request: PersonRequest, topic_id: UUID) -> Topic:
    return get_object_or_404(changes.with_subscribers(Topic.objects.for_user(request.user)), id=topic_id)


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
    """The link in each message of a topic: it shows the topic, and nothing about its subscriber."""
    if request.method == "POST":
        subscriptions.leave(subscription_id)
        if "List-Unsubscribe" not in request.POST:
            return redirect(request.path)
    # The row of a topic that was deleted is gone.
    subscription = Subscription.objects.select_related("topic").filter(id=subscription_id).first()
    return render(request, "events/leave.html", {"subscription": subscription})
