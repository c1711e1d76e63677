"""The admin's page of the kinds of job, with their queues and what waits."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from common.admin import columns, rights
from common.admin.pages import page
from common.database.postgres import query
from common.texts.numbers import grouped
from jobs import kinds
from jobs.checks.recording import queue_of

_COUNTED = 10_000

# By the partial indexes of what waits and of dead letters.
_COUNTS = """
SELECT kind, queue, count(*) FILTER (WHERE waits) AS waiting, count(*) FILTER (WHERE NOT waits) AS dead FROM (
       (SELECT kind, queue, true AS waits FROM jobs_job WHERE state = 'pending' AND wake_at IS NOT NULL LIMIT %(most)s)
       UNION ALL
       (SELECT kind, queue, false FROM jobs_job WHERE state IN ('dead', 'unknown') LIMIT %(most)s)
) counted GROUP BY kind, queue
"""


may_see = rights.may_see("jobs.job")


@require_safe
def screen(request: HttpRequest) -> HttpResponse:
    """Also kinds and queues that only stored jobs still name."""
    if not may_see(request):
        raise PermissionDenied
    counts = {(row.kind, row.queue): row for row in query(_COUNTS, {"most": _COUNTED})}
    connections = {(kind.name, queue_of(kind.name)): kind.connection or columns.NONE for kind in kinds.all()}
    rows = []
    for name, queue in [*connections, *sorted(counts.keys() - connections.keys())]:
        count = counts.get((name, queue))
        waiting, dead = (0, 0) if count is None else (count.waiting, count.dead)
        missing = _("not available here") if kinds.find(name) is None else columns.NONE
        connection = connections.get((name, queue), missing)
        rows.append([kinds.label(name), name, queue, connection, grouped(waiting), grouped(dead)])
    headers = [_("Kind"), _("Name"), _("Queue"), _("Connection"), _("Waiting"), _("Dead letters")]
    table = {"headers": headers, "rows": rows}
    return page(request, "admin/jobs/kinds.html", _("Kinds of job"), table=table, most=grouped(_COUNTED))
