"""The page that shows how the work of each kind goes."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from common.admin import columns, rights
from common.texts.numbers import grouped
from work import health
from work.kinds import KINDS, Kind

may_see = rights.may_see("work.intervention")


@require_safe
def screen(request: HttpRequest) -> HttpResponse:
    if not may_see(request):
        raise PermissionDenied
    context = admin.site.each_context(request) | {
        "title": _("Health"),
        "kinds": [(kind.model._meta.verbose_name_plural, kind.queue, _tables(kind)) for kind in KINDS.values()],
        "most": grouped(health.MOST),
    }
    return TemplateResponse(request, "admin/work/health.html", context)


def _tables(kind: Kind[Any]) -> list[tuple[str, dict[str, Any]]]:
    handler = kind.handler_name.capitalize()
    processed = [
        [row.handler, columns.short(row.source), grouped(row.count), grouped(row.done)]
        for row in health.processed(kind)
    ]
    died = [
        [
            row.handler,
            columns.to_page(f"{kind.dead_letters}_cause", row.cause, cause=row.cause),
            grouped(row.count),
            columns.instant(row.last),
        ]
        for row in health.died(kind)
    ]
    minutes = [[columns.instant(row.minute), grouped(row.recorded), grouped(row.ended)] for row in health.minutes(kind)]
    return [
        (
            _("Recorded and ended in the past hour"),
            {"headers": [handler, "Source", "Ended", kind.words.done.capitalize()], "rows": processed},
        ),
        (
            _("Dead letters of the past 24 hours"),
            {"headers": [handler, _("Cause"), _("Count"), _("Last")], "rows": died},
        ),
        (
            _("Each of the past 30 minutes"),
            {"headers": [_("Minute"), _("Recorded"), _("Ended since")], "rows": minutes},
        ),
    ]
