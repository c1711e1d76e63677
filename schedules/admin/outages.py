"""The outage page: past outages of beat, their missed slots, and what is still waiting."""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from common.admin import pages
from schedules.beat import heartbeat, outages
from schedules.firing import fire
from schedules.models import Schedule
from work.engine import hold
from work.kinds import KINDS
from work.models import Hold

log = logging.getLogger(__name__)

_SHOWN = 10
_LONGEST = 10.0  # seconds for one request
_BUTTONS = {
    Schedule.Misfire.LATEST: gettext_lazy("Send the newest of each"),
    Schedule.Misfire.ALL: gettext_lazy("Send all of them"),
    Schedule.Misfire.SKIP: gettext_lazy("Send none"),
}
_MEANS = {
    Schedule.Misfire.LATEST: gettext_lazy(
        "The newest missed slot of each schedule is sent now. The others are skipped."
    ),
    Schedule.Misfire.ALL: gettext_lazy("Every missed slot is sent now, up to 100 for each schedule."),
    Schedule.Misfire.SKIP: gettext_lazy("Every missed slot is skipped, including one-time reminders."),
}
_RELEASE_MEANS = {
    hold.Choice.SEND: gettext_lazy(
        "Open work is done, under the same ids as before: receivers of webhooks that drop a repeated id have each "
        "once, mailboxes may get a message twice. Missed slots follow their owners' settings, unless you decide first."
    ),
    hold.Choice.SKIP: gettext_lazy("Open work is cancelled. Missed slots follow their owners' settings."),
    hold.Choice.KEEP: gettext_lazy(
        "Open work becomes dead letters, to be replayed or discarded. Missed slots follow their owners' settings, "
        "unless you send them first: then they become dead letters too."
    ),
}


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("schedules.change_schedule", raise_exception=True)
def screen(request: HttpRequest) -> HttpResponse:
    """Show outages; `?policy=` confirms settling all waiting schedules by that policy, and POST does it."""
    now = fire.read_clock().now
    waits = outages.waiting(now)
    given = request.POST or request.GET
    choice = given.get("release")
    if waits.is_on_hold and choice in hold.Choice.values:
        chosen_end = hold.Choice(choice)
        if request.method == "POST":
            return _release(request, chosen_end)
        return _page(request, "confirm", release=chosen_end, button=chosen_end.label, means=_RELEASE_MEANS[chosen_end])
    policy = given.get("policy")
    if policy in Schedule.Misfire.values and waits.schedules:
        chosen = Schedule.Misfire(policy)
        if request.method == "POST":
            return _settle(request, chosen)
        return _page(request, "confirm", waits=waits, policy=chosen, button=_BUTTONS[chosen], means=_MEANS[chosen])
    if request.method == "POST":
        messages.info(request, _("Nothing is waiting any more."))
        return redirect("outages")
    return _overview(request, waits, now)


def _overview(request: HttpRequest, waits: Any, now: datetime) -> HttpResponse:
    past = heartbeat.outages(now - timedelta(days=heartbeat.RETAINED_DAYS), now)[::-1]
    shown = [
        {
            "outage": outage,
            "length": (outage.ended or now) - outage.began,
            "handled": [(Schedule.Misfire(row.policy).label, row) for row in outages.handled(outage, now)],
        }
        for outage in past[:_SHOWN]
    ]
    return _page(
        request,
        "screen",
        waits=waits,
        buttons=_BUTTONS.items(),
        hold=Hold.objects.first(),
        choices=hold.Choice.choices,
        open_work=[(KINDS[name].counted(count), count) for name, count in hold.open_work(hold.since()).items()]
        if waits.is_on_hold
        else [],
        shown=shown,
        older=max(0, len(past) - _SHOWN),
        days=heartbeat.RETAINED_DAYS,
    )


def _settle(request: HttpRequest, policy: Schedule.Misfire) -> HttpResponse:
    now = fire.read_clock().now
    settled = outages.settle(now, policy, _LONGEST)
    log.info("Person %s settled %d waiting schedules by the policy %s", request.user.pk, settled, policy)
    text = ngettext(
        "%(count)s schedule was settled: “%(how)s”.", "%(count)s schedules were settled: “%(how)s”.", settled
    )
    messages.success(request, text % {"count": settled, "how": _BUTTONS[policy]})
    if left := outages.waiting(now).schedules:
        messages.warning(request, _("%(count)s are still waiting. Repeat to continue.") % {"count": left})
    return redirect("outages")


def _release(request: HttpRequest, choice: hold.Choice) -> HttpResponse:
    if hold.release(choice, _LONGEST):
        log.info("Person %s released the hold: %s", request.user.pk, choice)
        messages.success(request, _("Released: “%(how)s”.") % {"how": choice.label})
    else:
        messages.warning(request, _("Some work is still open. Repeat to continue."))
    return redirect("outages")


def _page(request: HttpRequest, name: str, **context: Any) -> HttpResponse:
    return pages.page(request, f"admin/schedules/outages_{name}.html", _("Outages"), **context)
