"""Rules: the list, one rule with its last effects, and its buttons."""

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from events.models import Effect, Rule
from events.rules import changes, words
from jobs.checks import results
from notifications.models import Notification
from people.access.requests import PersonRequest, person_action, person_page
from people.user_lock import with_user_lock

_PAGE = 25
_SHOWN = 20
_RANG = Effect.objects.filter(rule=OuterRef("pk"), outcome=Effect.Outcome.NOTIFIED).order_by("-at").values("at")[:1]


@person_page
def rule_list(request: PersonRequest) -> HttpResponse:
    rows = Rule.objects.for_user(request.user).prefetch_related("channels").annotate(rang=Subquery(_RANG))
    page = Paginator(rows, _PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "rows": [{"rule": rule, "listens_to": words.listens_to(rule)} for rule in page],
        # With a button that restores it.
        "deleted": Rule.objects.deleted_of(request.user).written(request.GET.get("deleted", "")),
    }
    return render(request, "events/rule_list.html", context)


@person_page
def detail(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    rule = Rule.objects.own(request.user, id=rule_id)
    effects = list(rule.effects.select_related("event").defer("event__data").order_by("-id")[:_SHOWN])
    # The notifications that are still there: they may be pruned before their event is.
    caused = [effect.notification_id for effect in effects if effect.notification_id is not None]
    context = {
        "rule": rule,
        "listens_to": words.listens_to(rule),
        "conditions": words.conditions(rule),
        "how_often": [text for text in (words.throttle(rule), words.digest(rule), words.series(rule)) if text],
        "channels": rule.ordered_channels(),
        "effects": effects,
        "kept": set(Notification.objects.for_user(request.user).filter(id__in=caused).values_list("id", flat=True)),
        "step": results.last(request.user.pk, [rule.id]).get(rule.id) if rule.series else None,
    }
    return render(request, "events/rule.html", context)


@person_action
def enable(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    rule = changes.switch(Rule.objects.own(request.user, id=rule_id).id, True)
    messages.success(request, _("“%(name)s” is switched on.") % {"name": rule.name})
    return _back(request, rule)


@person_action
def disable(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    rule = changes.switch(Rule.objects.own(request.user, id=rule_id).id, False)
    messages.success(request, _("“%(name)s” is switched off. Its unsent messages are cancelled.") % {"name": rule.name})
    return _back(request, rule)


@person_action
def delete(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    rule = changes.delete(Rule.objects.own(request.user, id=rule_id).id)
    return redirect(f"{reverse('events:rules')}?deleted={rule.id}")


@person_action
@with_user_lock
def restore(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    deleted = get_object_or_404(Rule.objects.deleted_of(request.user), id=rule_id)
    if changes.limit_reached(request.user):
        messages.error(request, words.limit_reached())
    else:
        rule = changes.restore(deleted.id)
        messages.success(request, _("“%(name)s” is restored.") % {"name": rule.name})
    return redirect("events:rules")


def _back(request: PersonRequest, rule: Rule) -> HttpResponse:
    return redirect("events:rules") if "list" in request.POST else redirect("events:rule", rule.id)
