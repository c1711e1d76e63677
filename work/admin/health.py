"""The page that shows how the work of each kind goes."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from common.admin import columns, rights
from common.admin.pages import page
from common.texts.numbers import grouped
from people.models import User
from work.kinds import KINDS, Kind
from work.operators import health
from work.totals import DAY, HOUR

_LINES = 10
_FEW = 1_000  # rows, of which a size says nothing

may_see = rights.may_see("work.intervention")


@require_safe
def screen(request: HttpRequest) -> HttpResponse:
    if not may_see(request):
        raise PermissionDenied
    context: dict[str, Any] = {
        "overview": _overview(),
        "people": _people(),
        "past": [_past(_("Past 24 hours"), HOUR, 24), _past(_("Past 30 days"), DAY, 30)],
        "kinds": [(kind.model._meta.verbose_name_plural, kind.queue, _tables(kind)) for kind in KINDS.values()],
        "most": grouped(health.MOST),
    }
    return page(request, "admin/work/health.html", _("Health"), **context)


def _overview() -> dict[str, Any]:
    """How quickly each kind is done, beside the same hour yesterday, and how large its tables become."""
    speed, growth, rows = health.speed(), health.growth(), []
    for name, kind in KINDS.items():
        grown = growth[name]
        more = grown.count * 365 * grown.bytes / max(grown.rows, 1)
        over = "> " if grown.count >= health.MOST else ""  # no further ones were counted
        rows.append(
            [
                kind.model._meta.verbose_name_plural.capitalize(),  # type: ignore[union-attr]
                *(_seconds(speed.get((name, ago))) for ago in (0, 1)),
                over + grouped(grown.count),
                filesizeformat(grown.bytes),
                over + filesizeformat(more) if grown.rows >= _FEW else "–",
            ]
        )
    headers = [
        _("Kind"),
        _("Past hour, due to done"),
        _("Same hour yesterday"),
        _("Recorded in 24 hours"),
        _("On disk"),
        _("More in a year like that"),
    ]
    return {"headers": headers, "rows": rows}


def _seconds(took: Any) -> str:
    if took is None:
        return "–"
    return _("{median} s, 95 % within {most} s").format(
        median=number_format(took.median, 1), most=number_format(took.most, 1)
    )


def _people() -> dict[str, Any]:
    counts = health.people(_LINES)
    users = User.objects.in_bulk({row.person for row in counts})
    rows = [
        [
            columns.to_row("people_user", row.person, users[row.person]),
            KINDS[row.kind].model._meta.verbose_name_plural,
            grouped(row.count),
        ]
        for row in counts
        if row.person in users
    ]
    return {"headers": [_("Person"), _("Kind"), _("Recorded in 24 hours")], "rows": rows}


def _past(name: str, span: int, count: int) -> tuple[str, dict[str, Any]]:
    """By kind, and by provider or kind of job: tries, how many of them failed, how long they took and were late."""
    rows = [
        [
            KINDS[row.kind].model._meta.verbose_name_plural.capitalize(),  # type: ignore[union-attr]
            row.handler or columns.NONE,
            grouped(row.tries),
            number_format(100 * row.failed, 1) + " %",
            *(_duration(end) for ends in (row.took, row.late) for end in ends or (None, None)),
        ]
        for row in health.past(span, count)
        if row.kind in KINDS
    ]
    headers = [_("Kind"), _("Type"), _("Tries"), _("Error rate")]
    measures = [_("Latency"), _("Lateness")]
    return name, {"headers": headers + [f"{one} p{part}" for one in measures for part in (50, 99)], "rows": rows}


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return columns.NONE
    return f"{number_format(seconds * 1000, 0)} ms" if seconds < 1 else f"{number_format(seconds, 1)} s"


def _tables(kind: Kind[Any]) -> list[tuple[str, dict[str, Any]]]:
    handler = kind.handler_name.capitalize()
    done = kind.words.done.capitalize()
    processed = [
        [row.handler, columns.short(row.source), grouped(row.count), grouped(row.done)]
        for row in health.processed(kind)
    ]
    died = [
        [
            row.queue,
            row.handler,
            columns.to_page(f"{kind.dead_letters}_cause", row.cause, cause=row.cause),
            grouped(row.count),
            columns.instant(row.last),
        ]
        for row in health.died(kind)
    ]
    minutes = [
        [columns.instant(row.minute), *map(grouped, (row.recorded, row.tries, row.done))]
        for row in health.minutes(kind)
    ]
    return [
        (_("Processed in the past hour"), {"headers": [handler, _("Source"), _("Tries"), done], "rows": processed}),
        (
            _("Dead letters of the past 24 hours"),
            {"headers": [_("Queue"), handler, _("Cause"), _("Count"), _("Last")], "rows": died},
        ),
        (
            _("Each of the past 30 minutes"),
            {"headers": [_("Minute"), _("Recorded"), _("Tries"), done], "rows": minutes},
        ),
    ]
