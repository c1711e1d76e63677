"""Rules: the list, one rule with its last effects, its buttons, and its form with a preview."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from common.admin.base import as_uuid
from common.forms.not_possible import shown_in
from common.redis.request_limiter import limit_page
from events.inputs.rule_form import ConditionRow, RuleForm
from events.models import Effect, Event, Rule
from events.pure import matching, types
from events.pure.envelope import as_sent
from events.pure.matching import Condition
from events.rules import changes, preview, words
from jobs.checks import results
from notifications.channels import text_preview
from notifications.inputs.channels_form import channel_names
from notifications.models import Notification
from people.access.requests import PersonRequest, made_once, person_action, person_form, person_page, posted
from people.models import User
from people.user_lock import with_user_lock

_PAGE = 25
_SHOWN = 20
_SENT_AT = Effect.objects.filter(rule=OuterRef("pk"), outcome=Effect.Outcome.NOTIFIED).order_by("-at").values("at")[:1]


@person_page
def rule_list(request: PersonRequest) -> HttpResponse:
    rows = Rule.objects.for_user(request.user).prefetch_related("channels").annotate(sent_at=Subquery(_SENT_AT))
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
        "existing": set(Notification.objects.for_user(request.user).filter(id__in=caused).values_list("id", flat=True)),
        "step": results.last(request.user.pk, [rule.id]).get(rule.id) if rule.series else None,
    }
    return render(request, "events/rule.html", context)


@person_action
def switch(request: PersonRequest, rule_id: UUID, enabled: bool) -> HttpResponse:
    rule = changes.switch(Rule.objects.own(request.user, id=rule_id).id, enabled)
    off = _("“%(name)s” is switched off. Its unsent messages are cancelled.")
    messages.success(request, (_("“%(name)s” is switched on.") if enabled else off) % {"name": rule.name})
    return redirect("events:rules") if "list" in request.POST else redirect("events:rule", rule.id)


@person_action
def delete(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    rule = changes.delete(Rule.objects.own(request.user, id=rule_id).id)
    return redirect(f"{reverse('events:rules')}?deleted={rule.id}")


@person_action
@with_user_lock
def restore(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    deleted = get_object_or_404(Rule.objects.deleted_of(request.user), id=rule_id)
    with shown_in(request):
        changes.require_room(request.user)
        rule = changes.restore(deleted.id)
        messages.success(request, _("“%(name)s” is restored.") % {"name": rule.name})
    return redirect("events:rules")


@person_form
@with_user_lock
@made_once(lambda request: redirect("events:rule", Rule.objects.own(request.user, id=request.made_as).id))
def new(request: PersonRequest) -> HttpResponse:
    """With `?event=<id>`, for events like that one; with `?type=<type>`, for that type."""
    event = _event(request.user, request.GET.get("event", ""))
    form = RuleForm(posted(request), user=request.user, event=event)
    if event is None and (named := request.GET.get("type", "")[:100]):
        form.initial.update(type_pattern=named, name=named[:80], title="{type}")
    if form.change_rows(request.POST):
        return _with_other_rows(request, form)
    if form.is_valid():
        rule = changes.create(form.as_rule(), form.ordered())
        messages.success(request, _("“%(name)s” is created.") % {"name": rule.name})
        return redirect("events:rule", rule.id)
    return _page(request, form)


@person_form
def edit(request: PersonRequest, rule_id: UUID) -> HttpResponse:
    """With `?event=<id>`, its preview begins with that event."""
    rule = Rule.objects.own(request.user, id=rule_id)
    form = RuleForm(posted(request), user=request.user, rule=rule)
    if form.change_rows(request.POST):
        return _with_other_rows(request, form, rule)
    differences = None
    if form.is_valid() and (differences := form.change()) is None:
        messages.success(request, _("“%(name)s” is saved.") % {"name": form.cleaned_data["name"]})
        return redirect("events:rule", rule.id)
    return _page(request, form, rule, differences)


def _with_other_rows(request: PersonRequest, form: RuleForm, rule: Rule | None = None) -> HttpResponse:
    """The page with one more row of conditions, or one less, and nothing checked or saved."""
    page = _page(request, form, rule)
    page["HX-Trigger"] = "rows-changed"  # the preview follows
    return page


def _page(request: PersonRequest, form: RuleForm, rule: Rule | None = None, differences: Any = None) -> HttpResponse:
    context = {
        "form": form,
        "rule": rule,
        "differences": differences,
        "types": sorted({*preview.types_seen(request.user), *types.TYPES}),
        "event": request.POST.get("event") or request.GET.get("event", ""),
        "sample": request.POST.get("sample", ""),
    }
    return render(request, "events/rule_form.html", context, status=409 if differences else 200)


@person_action
def show_preview(request: PersonRequest) -> HttpResponse:
    """Show the result of the typed rule on a past event or a pasted one. Empty fields are not errors."""
    return limit_page(f"preview:{request.user.pk}", lambda: _preview(request))


def _preview(request: PersonRequest) -> HttpResponse:
    rule = Rule.objects.for_user(request.user).written(request.GET.get("of", ""))
    form = RuleForm(request.POST, user=request.user, rule=rule)
    form.is_valid()
    events = preview.fitting_events(request.user, request.POST.get("type_pattern", "").strip())
    chosen, envelope, problem = _chosen(request, events)
    cleaned = form.cleaned_data  # what is valid so far
    # The error, or "", of each field with a value; an empty field keeps the error that the page shows.
    names = ("name", "type_pattern", "source", "title", "body", "digest_key")
    context = {
        "form": form,
        "events": events,
        "chosen": chosen,
        "problem": problem,
        "channels": channel_names(form.ordered(), form.in_order()) if "channels" in cleaned else "",
        "gathers": cleaned.get("digest_seconds") or cleaned.get("digest_at"),
        "fields": {name: " ".join(map(str, form.errors.get(name, []))) for name in names if form.data.get(name)},
        "rows": _rows_to_show(request, form),
        **({"outcome": None} if envelope is None else _result(request, cleaned, envelope)),
    }
    return render(request, "events/_preview.html", context)


def _chosen(request: PersonRequest, events: list[Event]) -> tuple[Event | None, dict[str, Any] | None, str]:
    """The event on which to try the rule, its envelope, and what is wrong with a pasted one."""
    if sample := request.POST.get("sample", "").strip():
        typed = (request.POST.get(name, "").strip() for name in ("type_pattern", "source"))
        try:
            return None, preview.read_sample(sample, *typed), ""
        except ValueError as error:
            return None, None, str(error)
    if (event := _event(request.user, request.POST.get("event", ""))) is None and events:
        event = Event.objects.get(id=events[0].id)
    return event, None if event is None else as_sent(event), ""


def _result(request: PersonRequest, cleaned: dict[str, Any], envelope: dict[str, Any]) -> dict[str, Any]:
    outcome = preview.outcome(
        cleaned.get("type_pattern", "*"),
        cleaned.get("source", ""),
        [Condition(**one) for one in cleaned.get("conditions", [])],
        cleaned.get("title", ""),
        cleaned.get("body", ""),
        envelope,
    )
    channels = cleaned.get("channels", [])
    return {
        "outcome": outcome,
        "checks": [(words.condition(one), unmet) for one, unmet in outcome.conditions],
        "reading": text_preview.read(request.user, outcome.text, channels, None) if cleaned.get("title") else None,
        "placeholders": [
            (path, matching.shown(matching.find(envelope, path), 60)) for path in matching.fields(envelope["data"])
        ],
    }


def _rows_to_show(request: PersonRequest, form: RuleForm) -> list[ConditionRow]:
    """The rows of conditions that the page has, each with the errors of its parts that have a value."""
    sent = len(request.POST.getlist("conditions_field"))
    return [
        row._replace(errors={part: texts for part, texts in row.errors.items() if row.values.get(part)})
        for row in form.condition_rows()[:sent]
    ]


def _event(user: User, given: str) -> Event | None:
    event_id = as_uuid(given)
    return None if event_id is None else Event.objects.for_user(user).named(event_id)
