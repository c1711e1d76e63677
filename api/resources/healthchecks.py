"""`/api/v3`: watches as the checks of Healthchecks' management API, for programs that were written for it."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from pydantic import ValidationError

from api.protocol import access, calls
from api.protocol.access import ApiRequest
from api.protocol.answers import answer
from api.protocol.fields import NUL, written
from api.protocol.problems import FieldError, conflict, invalid, of_status
from api.resources import watches
from api.resources.watches import WatchBody, WatchPatch
from common.parsing import strict_json
from events.models import Event
from notifications.models import Channel
from people.models import User
from people.user_lock import lock_user
from schedules.firing.fire import read_clock
from watches import changes
from watches.healthchecks import NAMES, Spec, fields_of
from watches.models import Ping, Watch

_FLIPS = {"watch.missed": 0, "watch.failed": 0, "watch.recovered": 1}


def _fields(spec: Spec, user: User, is_new: bool) -> dict[str, Any]:
    """The fields of a watch; without channels, a new one goes to the inbox. Raises a 422 problem."""
    channels = _channels(spec, user, is_new)
    return fields_of(spec, is_new) | ({} if channels is None else {"channel_ids": channels})


def _channels(spec: Spec, user: User, is_new: bool) -> list[str] | None:
    mine = Channel.objects.filter(user=user, removed_at=None)
    if spec.channels == "*":
        return [str(channel.id) for channel in mine if channel.is_usable]
    if not spec.channels:
        return [str(channel.id) for channel in mine.filter(provider="inbox")] if is_new else None
    return [_id_of(name, mine) for name in spec.channels.split(",")]


def _id_of(name: str, channels: Iterable[Channel]) -> str:
    """The id of the only channel with this id or label. Raises a 422 problem."""
    same = [str(channel.id) for channel in channels if name in (str(channel.id), channel.label)]
    if len(same) != 1:
        raise invalid(FieldError("channels", f"{len(same)} of your channels have the id or label “{name}”."))
    return same[0]


def document(watch: Watch) -> dict[str, Any]:
    return documents([watch])[0]


def documents(watches: Sequence[Watch]) -> list[dict[str, Any]]:
    now = read_clock().now
    started = set(Ping.objects.filter(watch__in=watches, is_open=True).values_list("watch_id", flat=True))
    return [_document(watch, now, watch.id in started) for watch in watches]


def _document(watch: Watch, now: datetime, is_started: bool) -> dict[str, Any]:
    state = watch.shown_state(now)
    url = f"{settings.BASE_URL}/api/v3/checks/{watch.token}"
    shown: dict[str, Any] = {
        "name": watch.name,
        "slug": watch.slug,
        "tags": " ".join(watch.tags),
        "desc": watch.description,
        "grace": watch.grace,
        "n_pings": watch.ping_count,
        "status": "grace" if state == "late" else state,
        "started": is_started,
        "last_ping": written(watch.last_ping_at),
        "next_ping": written(watch.expected_at),
        "manual_resume": watch.stays_paused,
        "methods": "",
        "success_kw": ",".join(watch.success_words),
        "failure_kw": ",".join(watch.failure_words),
        "filter_http_body": bool(watch.success_words or watch.failure_words),
        "uuid": str(watch.token),
        "ping_url": watch.url,
        "update_url": url,
        "pause_url": f"{url}/pause",
        "resume_url": f"{url}/resume",
        "channels": ",".join(str(channel.id) for channel in watch.ordered_channels()),
    }
    if watch.period is not None:
        return shown | {"timeout": watch.period}
    # Healthchecks knows lines of cron only.
    rule = watch.rule or {}
    return shown | {"schedule": rule.get("expression", "") or watch.kind, "tz": watch.time_zone}


_Run = Callable[..., HttpResponse]


def _view(**by_method: _Run) -> Callable[..., HttpResponseBase]:
    """An operation for each method. A refusal also has `error`, its fields are named as there, and one for a field has
    the status 400."""
    allowed = ", ".join(by_method)

    def run(request: ApiRequest, **parts: Any) -> HttpResponse:
        access.require(request.auth, "read" if request.method == "GET" else "schedules")
        access.require_change(request.auth)  # each check shows the address that pings it
        operation = by_method.get(str(request.method))
        if operation is None:
            return of_status(405, headers={"Allow": allowed}).response()
        return operation(request, **parts)

    handled = calls.handle(run, lambda request: {"tag", "slug"}, lambda request: {})

    @csrf_exempt
    def view(request: HttpRequest, **parts: Any) -> HttpResponse:
        if request.method == "OPTIONS":  # as browsers send it: without a key
            return HttpResponseNotAllowed(by_method)
        request.META["HTTP_AUTHORIZATION"] = f"Bearer {request.headers.get('X-Api-Key', '')}"
        request.__dict__.pop("headers", None)  # which were read before
        response = handled(request, **parts)
        if response.status_code >= 400:
            response.status_code = 400 if response.status_code == 422 else response.status_code
            problem = json.loads(response.content) | {"status": response.status_code}
            errors = problem.get("errors", [])
            for one in errors:
                field = one["field"]
                one["field"] = "schedule" if field.partition(".")[0] == "timing" else NAMES.get(field, field)
            why = [f"{one['field']}: {one['detail']}" for one in errors] or [problem.get("detail", "")]
            response.content = json.dumps(problem | {"error": " ".join([problem["title"], *why])})
        return response

    return view


def _spec(request: ApiRequest) -> Spec:
    try:
        return Spec.model_validate(strict_json.read(request.body or b"{}"))
    except strict_json.Bad as error:
        raise invalid(FieldError("(body)", str(error))) from None
    except ValidationError as error:
        [first, *_] = error.errors()
        raise invalid(FieldError(".".join(map(str, first["loc"])) or "(body)", f"{first['msg']}.")) from None


def _own(request: ApiRequest, code: UUID) -> Watch:
    return Watch.objects.own(request.auth.user, token=code)


def _list(request: ApiRequest) -> HttpResponse:
    if wrong := [name for name, values in request.GET.lists() if "\0" in "".join(values)]:
        raise invalid(*(FieldError(f"query.{name}", NUL) for name in wrong))
    result = Watch.objects.for_user(request.auth.user).with_channels()
    if tags := request.GET.getlist("tag"):
        result = result.filter(tags__contains=tags)
    if slug := request.GET.get("slug"):
        result = result.filter(slug=slug)
    return answer({"checks": documents(list(result))})


def _create(request: ApiRequest) -> HttpResponse:
    spec, user = _spec(request), request.auth.user
    with lock_user(user):
        if (same := _same(spec, user)) is not None:
            return answer(document(_changed(same, spec, user)))
        body = WatchBody.model_validate(_fields(spec, user, is_new=True))
        return answer(document(changes.create(*watches.described(body, user))), 201)


def _same(spec: Spec, user: User) -> Watch | None:
    """The newest watch that is equal in all that `unique` names; None where it names nothing. Raises a 422
    problem for what is not given."""
    names = {"name": "name", "slug": "slug", "tags": "tags", "timeout": "period", "grace": "grace"}
    wanted = {names[one]: getattr(spec, one) for one in spec.unique}
    if not wanted:
        return None
    if absent := [one for one in spec.unique if getattr(spec, one) is None]:
        raise invalid(
            *(FieldError(one, "`unique` names this field. Send it, or leave it out there.") for one in absent)
        )
    if "tags" in wanted:
        wanted["tags"] = wanted["tags"].split()
    return Watch.objects.for_user(user).filter(**wanted).first()


def _changed(watch: Watch, spec: Spec, user: User) -> Watch:
    body = WatchPatch.model_validate(_fields(spec, user, is_new=False))
    return changes.change(*watches.described(body, user, watch))


def _update(request: ApiRequest, code: UUID) -> HttpResponse:
    with lock_user(request.auth.user):
        return answer(document(_changed(_own(request, code), _spec(request), request.auth.user)))


def _delete(request: ApiRequest, code: UUID) -> HttpResponse:
    watch = _own(request, code)
    shown = document(watch)
    changes.delete(watch.id)
    return answer(shown)


def _pause(request: ApiRequest, code: UUID) -> HttpResponse:
    return answer(document(changes.pause(_own(request, code).id, stays_paused=False)))


def _resume(request: ApiRequest, code: UUID) -> HttpResponse:
    if (watch := _own(request, code)).state != Watch.State.PAUSED:
        raise conflict("The check is not paused.")
    return answer(document(changes.resume(watch.id)))


def _pings(request: ApiRequest, code: UUID) -> HttpResponse:
    url = f"{settings.BASE_URL}/api/v3/checks/{code}/pings"
    pings = [
        {
            "type": one.kind,
            "date": written(one.at),
            "n": one.number,
            "scheme": "",
            "remote_addr": "",
            "method": "",
            "ua": "",
            "rid": one.rid or None,
            "body_url": f"{url}/{one.number}/body" if one.size else None,
        }
        | ({} if one.seconds is None else {"duration": round(one.seconds, 2)})
        for one in _own(request, code).pings.defer("output")
    ]
    return answer({"pings": pings})


def _body(request: ApiRequest, code: UUID, number: int) -> HttpResponse:
    ping = get_object_or_404(_own(request, code).pings, number=number)
    if not ping.size:
        raise Http404
    return HttpResponse(ping.output, content_type="text/plain; charset=utf-8")


def _flips(request: ApiRequest, code: UUID) -> HttpResponse:
    about = Event.objects.for_user(request.auth.user).filter(correlation_id=_own(request, code).id, type__in=_FLIPS)
    flips = about.order_by("-occurred_at").values_list("occurred_at", "type")[:100]
    return answer([{"timestamp": written(at), "up": _FLIPS[type]} for at, type in flips])


def _list_channels(request: ApiRequest) -> HttpResponse:
    mine = Channel.objects.filter(user=request.auth.user, removed_at=None)
    return answer({"channels": [{"id": str(one.id), "name": one.label, "kind": one.provider} for one in mine]})


app_name = "api3"
_ONE = "checks/<uuid:code>"
urlpatterns = [
    path("checks/", _view(GET=_list, POST=_create)),
    path(_ONE, _view(GET=lambda request, code: answer(document(_own(request, code))), POST=_update, DELETE=_delete)),
    path(f"{_ONE}/pause", _view(POST=_pause)),
    path(f"{_ONE}/resume", _view(POST=_resume)),
    path(f"{_ONE}/pings/", _view(GET=_pings)),
    path(f"{_ONE}/pings/<int:number>/body", _view(GET=_body)),
    path(f"{_ONE}/flips/", _view(GET=_flips)),
    path("channels/", _view(GET=_list_channels)),
]
