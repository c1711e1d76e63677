"""Dead letters grouped by cause, to replay or discard all of a cause."""

import math
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_POST, require_safe
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from common.admin import columns, pages, rights
from common.admin.pages import Reason, is_confirmed
from common.texts.numbers import grouped
from common.texts.state_words import state_word
from common.times import durations
from work import dead_letters
from work.admin.intervention import intervene
from work.dead_letters import Act, Which
from work.models import Intervention

_NEWEST = 20
_INTERVENTIONS = 10
_DESCRIBED = 5
_AGES = {
    "": pgettext_lazy("age", "none"),
    "1": pgettext_lazy("age", "a day"),
    "7": pgettext_lazy("age", "a week"),
    "30": pgettext_lazy("age", "a month"),
}

View = Callable[..., HttpResponse]


class Rate(forms.Form):
    """The rate of a replay, and the maximum age."""

    per_minute = forms.IntegerField(
        label=gettext_lazy("Dead letters per minute"),
        min_value=1,
        max_value=100_000,
        initial=60,
        widget=UnfoldAdminIntegerFieldWidget,
        error_messages={"required": gettext_lazy("Enter how many per minute the service can handle.")},
    )
    max_age = forms.TypedChoiceField(
        label=gettext_lazy("Skip if older than"),
        choices=list(_AGES.items()),
        required=False,
        coerce=lambda days: timedelta(days=int(days)),
        empty_value=None,
        widget=UnfoldAdminSelectWidget,
    )


def urls(admin: Any) -> list[Any]:
    """URLs of these pages: viewing needs the view permission, actions the change permission."""

    def page(route: str, name: str, view: View, allowed: Callable[[HttpRequest], bool], method: Any) -> Any:
        def checked(request: HttpRequest, **named: str) -> HttpResponse:
            if not allowed(request):
                raise PermissionDenied
            return view(admin, request, **named)

        name = f"{admin.opts.app_label}_{admin.opts.model_name}_{name}"
        return path(f"causes/{route}", admin.admin_site.admin_view(method(checked)), name=name)

    view, act = admin.has_view_permission, admin.has_act_permission
    return [
        page("", "causes", _causes, view, require_safe),
        page("<slug:cause>/", "cause", _show, view, require_safe),
        page("<slug:cause>/try/", "try", _try, act, require_POST),
        page("<slug:cause>/replay/", "replay", _replay, act, require_POST),
        page("<slug:cause>/discard/", "discard", _discard, act, require_POST),
    ]


def _page(admin: Any, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    context |= {"pages": admin.kind.dead_letters}
    return pages.page(request, f"admin/work/{template}.html", title, admin, **context)


def _causes(admin: Any, request: HttpRequest) -> HttpResponse:
    page = f"{admin.kind.dead_letters}_cause"
    table = {
        "headers": [_("Reason"), _("Count"), admin.kind.handler_name.capitalize(), _("State"), _("First"), _("Last")],
        "rows": [
            [
                columns.to_page(page, columns.short(group.example.reason or _("No reason")), cause=group.cause),
                grouped(group.count),
                admin.handler_label(group.handler),
                state_word(group.example.state),
                columns.instant(group.first),
                columns.instant(group.last),
            ]
            for group in dead_letters.groups(Which(admin.kind))
        ],
    }
    return _page(admin, request, "causes", _("Dead letters by cause"), table=table)


def _try(admin: Any, request: HttpRequest, cause: str) -> HttpResponse:
    return _act(admin, request, cause, dead_letters.TRY_ONE, ".")


def _replay(admin: Any, request: HttpRequest, cause: str) -> HttpResponse:
    form = Rate(request.POST)
    if not form.is_valid():
        return _show(admin, request, cause, rate=form)
    per_minute, skip = form.cleaned_data["per_minute"], dead_letters.stale(form.cleaned_data["max_age"])
    if not is_confirmed(request):
        return _confirm_replay(admin, request, cause, form)
    rate = f", {per_minute} a minute."
    return _act(admin, request, cause, dead_letters.REPLAY, rate, per_minute=per_minute, skip=skip)


def _confirm_replay(admin: Any, request: HttpRequest, cause: str, form: Rate) -> HttpResponse:
    """Show how many are replayed and how long it takes, with the first ones in words."""
    per_minute, skip = form.cleaned_data["per_minute"], dead_letters.stale(form.cleaned_data["max_age"])
    rows = rights.rows_within(request, admin.get_queryset(request).filter(cause=cause), admin.owner)
    counted = rows.order_by().aggregate(every=Count("*"), stale=Count("pk", filter=skip))
    count, stale = counted["every"] - counted["stale"], counted["stale"]
    page = reverse(f"{admin.kind.dead_letters}_cause", args=[cause])
    if not count:
        if stale:
            text = _("Nothing is replayed: %(stale)s are stale.") % {"stale": grouped(stale)}
            admin.message_user(request, text, messages.WARNING)
        return redirect(page)
    texts = [
        ngettext(
            "%(count)s dead letter is replayed now, and this cannot be undone.",
            "%(count)s dead letters are replayed, %(rate)s a minute: this takes %(time)s, and cannot be undone.",
            count,
        )
        % {
            "count": grouped(count),
            "rate": grouped(per_minute),
            "time": durations.in_words(timedelta(minutes=math.ceil(count / per_minute))),
        },
        _("Effects that already happened may happen twice."),
    ]
    if stale:
        texts.append(
            ngettext("%(count)s stale one is skipped.", "%(count)s stale ones are skipped.", stale)
            % {"count": grouped(stale)}
        )
    return pages.page(
        request,
        "admin/confirm.html",
        of=admin,
        title=_("Replay dead letters"),
        text=" ".join(texts),
        button=_("Replay %(count)s") % {"count": grouped(count)},
        to=request.path,
        back=page,
        hidden=[(name, form.data.get(name, "")) for name in form.fields],
        **preview(admin, rows.exclude(skip), count),
    )


def preview(admin: Any, rows: QuerySet[Any], count: int) -> dict[str, Any]:
    """The oldest of `count` rows in words, and what to repair before they can succeed."""
    first = list(rows.order_by("pk")[:_DESCRIBED])
    lines = [admin.describe(dead_letter) for dead_letter in first]
    if count > len(first):
        lines.append(_("… and %(count)s more") % {"count": grouped(count - len(first))})
    return {"lines": lines, "warnings": repairs(admin, first)}


def repairs(admin: Any, letters: Iterable[Any]) -> list[SafeString]:
    """Return the repairs that these need before they can succeed, each once."""
    return list(dict.fromkeys(filter(None, map(admin.repair, letters))))


def _discard(admin: Any, request: HttpRequest, cause: str) -> HttpResponse:
    form = Reason(request.POST)
    if not form.is_valid():
        return _show(admin, request, cause, reason=form)
    reason = form.cleaned_data["reason"]
    return _act(admin, request, cause, dead_letters.DISCARD, f": {reason}", reason=reason)


def _act(admin: Any, request: HttpRequest, cause: str, act: Act, detail: str, **how: Any) -> HttpResponse:
    which = Which(admin.kind, cause=cause)
    rows = rights.rows_within(request, which.rows(), admin.owner)
    done = intervene(request, admin.kind, partial(act.do, rows, str(which), cause=cause, **how), act.log(detail))
    if done.stale:
        admin.message_user(request, _("%(stale)s stale, skipped.") % {"stale": grouped(done.stale)}, messages.WARNING)
    if done.intervention is None:
        admin.message_user(request, _("Nothing changed. No dead letter of this cause is left."), messages.WARNING)
        if which.rows().exists():
            return redirect(f"{admin.kind.dead_letters}_cause", cause)
        return redirect(f"{admin.kind.dead_letters}_causes")
    return redirect("admin:work_intervention_change", done.intervention.pk)


def _show(
    admin: Any, request: HttpRequest, cause: str, rate: Rate | None = None, reason: Reason | None = None
) -> HttpResponse:
    groups = dead_letters.groups(Which(admin.kind, cause=cause))
    interventions = Intervention.objects.filter(kind=admin.kind.name, cause=cause)[:_INTERVENTIONS]
    if not groups:
        if not interventions:
            raise Http404("There is no such cause.")
        admin.message_user(request, _("No dead letter of this cause is left."), messages.INFO)
        return redirect(f"{admin.kind.dead_letters}_causes")
    [group] = groups
    reason = reason or Reason()
    reason.fields["reason"].widget.attrs.pop("autofocus", None)  # not the first field of this page
    letters = admin.get_queryset(request).filter(cause=group.cause).order_by("-settled_at")[:_NEWEST]
    return _page(
        admin,
        request,
        "cause",
        group.example.reason or _("No reason"),
        group=group,
        handler=admin.handler_label(group.handler),
        first=columns.instant(group.first),
        last=columns.instant(group.last),
        warnings=repairs(admin, letters),
        newest=_newest(admin, letters),
        every=columns.to_list(
            admin.opts.label_lower, _("All %(count)s in the list") % {"count": grouped(group.count)}, cause=cause
        ),
        interventions=_interventions(interventions),
        rate=rate or Rate(),
        reason=reason,
        may_act=admin.has_act_permission(request),
    )


def _newest(admin: Any, letters: Iterable[Any]) -> dict[str, Any]:
    """A table of the newest letters, in the columns that the admin names for it; the first links to the letter."""
    names = (admin.list_display[0], *admin.newest)

    def cells(dead_letter: Any) -> list[Any]:
        first, *others = (lookup_field(name, dead_letter, admin)[2] for name in names)
        return [columns.to_row(admin.opts.label_lower, dead_letter.pk, first), *others]

    headers = [str(label_for_field(name, admin.model, admin)).capitalize() for name in names]
    return {"headers": headers, "rows": [cells(dead_letter) for dead_letter in letters]}


def _interventions(rows: Any) -> dict[str, Any]:
    return {
        "headers": [_("When"), _("Who"), _("What")],
        "rows": [
            [
                columns.instant(row.at),
                row.who,
                columns.to_row("work.intervention", row.pk, f"{row.get_what_display()}: {grouped(row.count)}"),
            ]
            for row in rows
        ],
    }
