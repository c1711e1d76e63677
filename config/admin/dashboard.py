"""The first page of the admin: what was sent and failed, what waits and is late, beat, workers, dead letters."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from common.redis import served_queues
from common.texts.numbers import grouped
from events.runs import operators
from notifications.deliveries.kind import DELIVERY
from schedules.beat import heartbeat, outages, problems as clock
from schedules.models import Heartbeat
from work.admin.health import may_see
from work.backup import newest
from work.kinds import KINDS
from work.operators import health, problems
from work.reasons import Reason

_KEY = "dashboard"
_FRESH = 10  # seconds
_CAUSES = 10


def context(request: HttpRequest) -> dict[str, Any]:
    """Return the context of the page; nothing to staff who may not see the page "Health"."""
    if not may_see(request):
        return {"dashboard": None}
    if (counted := cache.get(_KEY)) is None:
        counted = _count()
        cache.set(_KEY, counted, _FRESH)
    return {"dashboard": _counts(counted["hours"], counted["waiting"][DELIVERY.name]) | _state(counted)}


def _counts(hours: list[tuple[int, int]], waiting: dict[str, Any]) -> dict[str, Any]:
    done, failed = zip(*hours, strict=True)
    return {
        "done": {"hour": grouped(done[0]), "day": grouped(sum(done))},
        "failed": {"hour": grouped(failed[0]), "day": grouped(sum(failed))},
        "has_failed": failed[0] > 0,
        "waiting": grouped(waiting["count"], health.MOST),
        "late": grouped(waiting["late"], health.MOST),
        "is_late": waiting["late"] > 0,
        "most": grouped(health.MOST),
        "chart": _chart(hours) if any(map(sum, hours)) else None,
    }


def _state(counted: dict[str, Any]) -> dict[str, Any]:
    now = timezone.now()
    beats = list(Heartbeat.objects.all()[:_CAUSES])
    running = [beat for beat in beats if (now - beat.last_seen_at).total_seconds() < heartbeat.STOPPED]
    return {
        "at": datetime.fromisoformat(counted["at"]),
        "is_capped": counted["is_capped"],
        "beats": running or beats[:1],
        "has_beat": bool(running),
        "queues": [
            (queue, None if ago is None else timedelta(seconds=round(ago)), served_queues.is_served(ago))
            for queue, ago in served_queues.last_seen().items()
        ],
        "causes": [cause | _cause_words(cause) for cause in counted["causes"]],
        "problems": [*_problems(bool(running), counted, now)],
    }


def _cause_words(cause: dict[str, Any]) -> dict[str, Any]:
    return {
        "link": reverse(f"{KINDS[cause['kind']].dead_letters}_cause", args=[cause["cause"]]),
        "name": KINDS[cause["kind"]].counted(cause["count"]),
        "count": grouped(cause["count"]),
        "reason": str(Reason.read(cause["reason_code"], cause["reason_params"])) or _("No reason"),
        "last": datetime.fromisoformat(cause["last"]),
    }


def _count() -> dict[str, Any]:
    """Return the counts of large tables, and whether no operator is told of problems, as JSON."""
    hours = health.hours(DELIVERY)
    by_hour = {row.ago: (row.done, row.failed) for row in hours}
    return {
        "at": timezone.now().isoformat(),
        "hours": [by_hour.get(ago, (0, 0)) for ago in range(health.HOURS)],
        "is_capped": any(row.counted == health.MOST for row in hours),
        "waiting": {row.kind: row._asdict() for row in health.waiting()},
        "is_untold": not operators.chosen(),
        "causes": [row._asdict() | {"last": row.last.isoformat()} for row in health.causes(_CAUSES)],
    }


def _chart(hours: list[tuple[int, int]]) -> dict[str, Any]:
    """Stacked bars, the oldest hour first: failed on top of sent, in percent of the highest bar."""
    highest = max(map(sum, hours))
    bars = [
        {
            "sent": round(100 * done / highest),
            "failed": round(100 * failed / highest),
            "title": _("%(ago)d h ago: %(done)s sent, %(failed)s failed")
            % {"ago": ago, "done": grouped(done), "failed": grouped(failed)},
        }
        for ago, (done, failed) in enumerate(hours)
    ]
    return {"bars": bars[::-1], "highest": grouped(highest)}


def _problems(has_beat: bool, counted: dict[str, Any], now: datetime) -> Iterator[tuple[str, str, str]]:
    """Return the problems that need somebody, worst first: a sentence, a link and its text."""
    waits = outages.waiting(now)
    if waits.is_on_hold:
        yield _("Carillon is on hold: nothing is sent until you release it."), reverse("outages"), _("Outages")
    yield from _of_operators(has_beat, counted["waiting"].values())
    if backup := newest.problem():
        yield backup, "", ""
    if counted["is_untold"]:
        text = _("No operator is told of problems of this installation. Choose channels in the settings of incidents.")
        yield text, reverse("events:incident-settings"), _("Settings of incidents")
    if missed := waits.schedules:
        text = ngettext(
            "%(count)d reminder waits with a missed time.", "%(count)d reminders wait with missed times.", missed
        )
        yield text % {"count": missed}, reverse("outages"), _("Decide what is sent")


def _of_operators(has_beat: bool, waiting: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Those of which operators are told, in the same words, but dead letters: the page lists their causes."""
    result = [*problems.broker(), *(problems.queues() or ()), *clock.periodic_tasks()]
    late = [problems.late(row["kind"], row["late"], row["oldest"], health.MOST) for row in waiting if row["late"]]
    for problem in result + late if has_beat else [clock.NO_BEAT, *result, *late]:
        if problem.words and (words := problem.words()):
            link = words.url.removeprefix(settings.BASE_URL)
            yield f"{words.title}. {words.summary}", "" if link == reverse("admin:index") else link, _("Show")
