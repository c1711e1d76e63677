"""Badges: their page, and the pictures that anybody may embed."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from common.admin.base import as_uuid
from common.forms.not_possible import shown_in
from common.redis.request_limiter import by_address, limit_page
from common.texts import languages
from people.access.requests import PersonRequest, person_action, person_page
from people.user_lock import with_user_lock
from schedules.firing.fire import read_clock
from watches import badges
from watches.models import Badge, Watch
from watches.models.badge import new_token


@person_page
def badge_list(request: PersonRequest) -> HttpResponse:
    mine = Badge.objects.for_user(request.user).select_related("watch").order_by("id")
    have_one = {badge.watch_id for badge in mine} | {badge.tag for badge in mine}
    watches = list(Watch.objects.for_user(request.user).order_by("name"))
    context = {
        "badges": mine,
        "watches": [watch for watch in watches if watch.id not in have_one],
        "tags": sorted({tag for watch in watches for tag in watch.tags} - have_one),
    }
    return render(request, "watches/badges.html", context)


@person_action
@with_user_lock
def new(request: PersonRequest) -> HttpResponse:
    """Make one of the watch or the tag that was chosen, as the page offers them. One that exists stays."""
    tag = request.POST.get("tag", "").replace("\0", "")
    wanted: dict[str, Any] = {"tags__contains": [tag]} if tag else {"id": as_uuid(request.POST.get("watch", ""))}
    if (watch := Watch.objects.for_user(request.user).filter(**wanted).first()) is None:
        raise Http404
    with shown_in(request):
        badges.create(request.user, None if tag else watch, tag)
    return redirect("watches:badges")


@person_action
def renew(request: PersonRequest, badge_id: UUID) -> HttpResponse:
    if not Badge.objects.for_user(request.user).filter(id=badge_id).update(token=new_token()):
        raise Http404
    messages.success(request, _("The badge has a new address. The old one does not work any more."))
    return redirect("watches:badges")


@person_action
def delete(request: PersonRequest, badge_id: UUID) -> HttpResponse:
    Badge.objects.own(request.user, id=badge_id).delete()
    messages.success(request, _("The badge is deleted. Its address does not work any more."))
    return redirect("watches:badges")


@require_safe
def picture(request: HttpRequest, secret: str, ending: str) -> HttpResponse:
    """The state as a picture or as JSON. The address itself is the permission: no session. Any page may embed it."""
    row = Badge.objects.select_related("user", "watch").filter(token=secret, user__is_active=True).first()
    if row is None or ending not in ("svg", "json", "shields") or (row.watch and row.watch.deleted_at):
        return limit_page(by_address(request), lambda: render(request, "404.html", status=404))
    badge = row

    def respond() -> HttpResponse:
        document = badges.document(badge.watches(), read_clock().now)
        with languages.override(badge.user.language):
            if ending == "svg":
                return HttpResponse(badges.svg(badge, document["status"]), content_type="image/svg+xml")
            return JsonResponse(document if ending == "json" else badges.shields(badge, document["status"]))

    response = limit_page(f"badge:{badge.id}", respond)
    response["Access-Control-Allow-Origin"] = "*"
    return response
