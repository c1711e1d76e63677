"""One's own topics: list, make, edit, delete, and add people."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from common.database import paging, postgres
from common.forms import versioned_form
from common.forms.edit_form import Differences
from common.forms.not_possible import NotPossible
from events.models import Subscription, Topic
from events.topics import changes, subscriptions
from events.topics.changes import AddressForm, TopicForm
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
        try:
            topic = changes.create(form)
        except NotPossible as refusal:
            form.add_error(None, str(refusal))
        else:
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
        try:
            subscriptions.add(topic, address)
        except subscriptions.Full as refusal:
            form.add_error("address", str(refusal))
        else:
            messages.success(
                request,
                _("%(address)s is added. If an account has this address, it is subscribed now.") % {"address": address},
            )
            return redirect("events:topic", topic.id)
    added = Subscription.objects.filter(topic=topic).exclude(address="")
    context = {
        "topic": topic,
        "subscribers": changes.shown_count(topic.subscribers),  # type: ignore[attr-defined]
        "form": form,
        "page": paging.page(added, request.GET),
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
        messages.success(request, _("“%(name)s” is saved.") % {"name": versioned_form.save(form).name})
    except ObjectDoesNotExist:
        raise Http404 from None
    except versioned_form.VersionConflict as conflict:
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
