"""Holidays: times in which one's schedules send nothing."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import Body, Instant, Texts, limited
from api.protocol.idempotency import transaction_of
from api.protocol.problems import require_valid
from people.models import User
from people.user_lock import lock_in_transaction
from schedules.inputs.holiday_form import HolidayForm
from schedules.models import Holiday

router = Router(tags=["holidays"], auth=Bearer("schedules"))


class HolidayBody(Body):
    model_config = limited(HolidayForm)

    first: str = Field(description="The first day, on the clock of your time zone.")
    last: str = Field(description="The last day.")
    tags: Texts = Field([], description="Only schedules with one of these tags; empty: all.")
    urgent_rings: bool = Field(True, description="Urgent schedules still fire.")
    note: str = Field("", description="For you.")


class HolidayDocument(BaseModel):
    id: UUID
    first: str
    last: str
    tags: list[str]
    urgent_rings: bool
    note: str
    ended_at: Instant | None = Field(description="When you ended it early.")


@router.get("", response=paging.Page[HolidayDocument], summary="List holidays")
def list_holidays(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first."""
    mine = Holiday.objects.filter(user=request.auth.user)
    return paging.answer_page(mine, request, page, document)


@router.post("", response={201: HolidayDocument}, summary="Plan a holiday")
def create_holiday(request: ApiRequest, body: HolidayBody) -> HttpResponse:
    """Slots from `first` to `last` are skipped, with the reason `holiday`. Announcements still arrive."""
    user = request.auth.user
    with transaction_of(request):
        lock_in_transaction(user)
        return answer(document(make(user, body)), 201)


def make(user: User, body: HolidayBody) -> Holiday:
    """The caller's transaction holds the person's lock. Raises a 422 problem."""
    form = HolidayForm(body.model_dump(), user=user, today=timezone.localdate(timezone=user.zone))
    require_valid(form)
    saved: Holiday = form.save()
    return saved


@router.delete("/{uuid:holiday_id}", response={204: None}, summary="Delete a holiday")
def delete_holiday(request: ApiRequest, holiday_id: UUID) -> HttpResponse:
    """Schedules fire again from now on."""
    deleted, _ = Holiday.objects.filter(user=request.auth.user, id=holiday_id).delete()
    if not deleted:
        raise Http404
    return HttpResponse(status=204)


def document(holiday: Holiday) -> dict[str, Any]:
    return fields_of(HolidayDocument, holiday)
