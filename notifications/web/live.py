"""Unread messages on all pages, polls of an open page, and the service worker that shows pushed messages."""

import json
import re
from collections.abc import Collection
from typing import Any

from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_safe

from common.database.postgres import column, query
from notifications import providers
from people.access.requests import PersonRequest, person_page
from people.models import User

MOST_UNREAD = 1_000
"""Further unread messages are not counted."""

_RECENT = 10  # so many of the newest notifications change `mark` when they end or are answered

# Each inbox alone: the index has its unread messages.
_INBOX = """
    FROM notifications_channel inbox, LATERAL (
        SELECT settled_at FROM notifications_delivery
         WHERE channel_id = inbox.id AND provider = 'inbox' AND state = 'delivered' AND $which IS NULL
         ORDER BY settled_at DESC, id DESC LIMIT $most) message
   WHERE inbox.user_id = person.id AND inbox.provider = 'inbox'"""
_UNREAD = f"(SELECT count(*) FROM (SELECT {_INBOX} LIMIT $most) unread)"  # noqa: S608 - constants only
_UNREAD = _UNREAD.replace("$which", "read_at").replace("$most", "%(most)s")
_NEWEST = f"(SELECT max(settled_at) {_INBOX})"
_NEWEST = _NEWEST.replace("$which", "archived_at").replace("$most", "1")
# As `boards.mark` says it of one.
_BOARDS = """(
    SELECT jsonb_object_agg(board.id, shown.mark)
      FROM notifications_channel board, LATERAL (
        SELECT coalesce(max(message.id), 0) || '-' || count(n.acknowledged_at) AS mark
          FROM notifications_boardmessage message LEFT JOIN notifications_notification n ON n.id = notification_id
         WHERE board_id = board.id) shown
     WHERE board.user_id = person.id AND board.provider = 'board' AND board.removed_at IS NULL)"""
_STATES = f"""
SELECT person.id, {_UNREAD} AS unread, {_BOARDS} AS boards, {_NEWEST} AS newest, recent.*,
       extract(epoch FROM statement_timestamp())::float AS at
  FROM unnest(%(users)s::bigint[]) person (id), LATERAL (
    WITH recent AS (
        SELECT id, outcome, acknowledged_at FROM notifications_notification
         WHERE user_id = person.id ORDER BY id DESC LIMIT %(recent)s
    )
    SELECT (SELECT sha256(convert_to(string_agg(recent::text, ',' ORDER BY id), 'UTF8')) FROM recent) AS mark,
           (SELECT extract(epoch FROM now() - max(greatest(acknowledged_at, created_at, settled_at)))::float
              FROM recent JOIN notifications_delivery d ON d.notification_id = recent.id) AS changed
  ) recent
"""  # noqa: S608 - constants only


def states(users: Collection[int]) -> dict[int, dict[str, Any]]:
    """For each of these people: the number of unread messages, when the newest arrived, and a mark of what pages show.

    `changed`: how many seconds ago the mark changed, so that a page knows whether it was read before; `at`: when this
    was read, so that a page can tell the newer of two. `boards`: a mark of what stands on each, by its id.
    """
    rows = query(_STATES, {"users": column(users, int), "most": MOST_UNREAD, "recent": _RECENT})
    return {
        row.id: {
            "unread": row.unread,
            "newest": row.newest.isoformat() if row.newest else "",
            "mark": (row.mark or b"").hex(),
            "changed": row.changed,
            "at": row.at,
            "boards": json.loads(row.boards or "{}"),
        }
        for row in rows
    }


def unread_of(user: User) -> str:
    """The number of a person's unread messages as live.js says it of an open page; "" for none."""
    statement = f"SELECT {_UNREAD} AS unread FROM (SELECT %(user)s::bigint AS id) person"  # noqa: S608 - constants only
    [row] = query(statement, {"user": user.pk, "most": MOST_UNREAD})
    return f"{MOST_UNREAD - 1}+" if row.unread == MOST_UNREAD else str(row.unread or "")


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread`: see `unread_of`; read only if a page shows it."""
    if (user := getattr(request, "user", None)) is None or not user.is_authenticated:
        return {"unread": ""}
    return {"unread": SimpleLazyObject(lambda: unread_of(user))}


def mail_notice(request: HttpRequest) -> dict[str, Any]:
    """`mail_notice`: where to find emails that are saved to files, without a mail server."""
    return {"mail_notice": SimpleLazyObject(providers.get("email").notice)}


@person_page
def state(request: PersonRequest) -> HttpResponse:
    """See `states`; with the account, for tabs that show another one."""
    return JsonResponse(states([request.user.pk])[request.user.pk] | {"account": request.user.pk})


@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the worker keeps, in the reader's language, for when there is no network."""
    return render(request, "offline.html")


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """The script, at the root: a worker controls no page above its own address.

    The names of the files that it keeps change with their content, and so does the script.
    """
    if (path := finders.find("service_worker.js")) is None:
        raise Http404
    with open(path, encoding="utf-8") as script:
        text = re.sub(r"(?<=\")/static/([^\"]+)", lambda found: static(found[1]), script.read())
        return HttpResponse(text, content_type="text/javascript; charset=utf-8")
