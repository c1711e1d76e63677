"""Holidays: times in which one's schedules send nothing."""

from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import FormBody, Instant, Replacement, Texts, limited, shows
from api.protocol.problems import conflict, require_unchanged, require_valid
from people.models import User
from people.user_lock import lock_user
from schedules.firing import fire, holidays
from schedules.inputs.holiday_form import HolidayForm
from schedules.models import Holiday

router = Router(tags=["holidays"], auth=Bearer("schedules"))


class HolidayBody(FormBody):
    model_config = limited(HolidayForm)

    first: str = Field(description="The first day, on the clock of your time zone.")
    last: str = Field(description="The last day.")
    tags: Texts = Field([], description="Only schedules with one of these tags; empty: all.")
    urgent_rings: bool = Field(True, description="Urgent schedules still fire.")
    note: str = Field("", description="For you.")


class HolidayReplacement(HolidayBody, Replacement):
    """All of it."""


@shows(HolidayBody)
class HolidayDocument(BaseModel):
    id: UUID
    ended_at: Instant | None = Field(description="When you ended it early.")


@router.get("", response=paging.Page[HolidayDocument], summary="List holidays")
def list_holidays(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first."""
    return paging.answer_page(Holiday.objects.for_user(request.auth.user), request, page, HolidayDocument)


@router.post("", response={201: HolidayDocument}, summary="Plan a holiday")
def create_holiday(request: ApiRequest, body: HolidayBody) -> HttpResponse:
    """Slots from `first` to `last` are skipped, with the reason `holiday`. Announcements still arrive."""
    with lock_user(request.auth.user):
        made = make(request.auth.user, body)
    return answer(fields_of(HolidayDocument, made), 201, Location=f"{request.path}/{made.id}")


def make(user: User, body: HolidayBody, holiday: Holiday | None = None) -> Holiday:
    """Of `holiday`, else a new one. The caller's transaction holds the person's lock. Raises a 422 problem."""
    form = HolidayForm(body.model_dump(), user=user, today=timezone.localdate(timezone=user.zone), holiday=holiday)
    require_valid(body, form)
    saved: Holiday = form.save()
    return saved


@router.get("/{uuid:holiday_id}", response=HolidayDocument, summary="Read a holiday")
def read_holiday(request: ApiRequest, holiday_id: UUID) -> HttpResponse:
    """Also one that is over."""
    return answer(fields_of(HolidayDocument, Holiday.objects.own(request.auth.user, id=holiday_id)))


@router.put("/{uuid:holiday_id}", response=HolidayDocument, summary="Replace a holiday")
def replace_holiday(request: ApiRequest, holiday_id: UUID, body: HolidayReplacement) -> HttpResponse:
    """One that was ended early is on again."""
    with lock_user(request.auth.user):
        holiday = Holiday.objects.own(request.auth.user, id=holiday_id)
        require_unchanged(body, HolidayDocument, holiday)
        return answer(fields_of(HolidayDocument, make(request.auth.user, body, holiday)))


@router.post("/{uuid:holiday_id}/end", response=HolidayDocument, summary="End a holiday")
def end_holiday(request: ApiRequest, holiday_id: UUID) -> HttpResponse:
    """Before its last day. Schedules fire again from now on; what was skipped stays skipped."""
    user = request.auth.user
    with lock_user(user):
        holiday = Holiday.objects.own(user, id=holiday_id)
        if not holidays.end(holiday, user.zone, fire.read_clock().now):
            raise conflict("This holiday is not on now.")
        return answer(fields_of(HolidayDocument, holiday))


@router.delete("/{uuid:holiday_id}", response={204: None}, summary="Delete a holiday")
def delete_holiday(request: ApiRequest, holiday_id: UUID) -> None:
    """Schedules fire again from now on."""
    Holiday.objects.own(request.auth.user, id=holiday_id).delete()
