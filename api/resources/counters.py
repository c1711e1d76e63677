"""Counters: programs add to one by its name, and read the sum."""

from typing import Annotated

from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Body, valid
from counters import totals

router = Router(tags=["counters"], auth=Bearer("counters"))


Name = Annotated[str, Field(max_length=100), valid(totals.check_name)]


class Addition(Body):
    name: Name = Field(
        description="Letters, digits, “-” and “_”.", json_schema_extra={"minLength": 1, "pattern": f"^{totals.NAME}$"}
    )
    by: int = Field(1, ge=-totals.LARGEST, le=totals.LARGEST, description="A negative number subtracts.")


class CounterDocument(BaseModel):
    name: str = Field(description="Its name.")
    value: int = Field(description="The sum of all that was added.")


@router.get("", response=paging.Page[CounterDocument], summary="List your counters")
def list_counters(request: ApiRequest) -> HttpResponse:
    """In the order of their names, on one page."""
    return paging.answer_all({"name": name, "value": value} for name, value in totals.values(request.auth.user).items())


@router.get("/{slug:name}", response=CounterDocument, summary="Read a counter")
def read_counter(request: ApiRequest, name: str) -> HttpResponse:
    """The sum of all that was added by then."""
    for value in totals.values(request.auth.user, name).values():
        return answer({"name": name, "value": value})
    raise Http404


@router.post("", response=CounterDocument, summary="Add to a counter")
def add_to_counter(request: ApiRequest, body: Addition) -> HttpResponse:
    """A name that is new begins at 0. In the answer, what others add at the same moment may be missing. With
    `Idempotency-Key`, a repeated request adds once."""
    return answer({"name": body.name, "value": totals.add(request.auth.user, body.name, body.by)})


@router.delete("/{slug:name}", response={204: None}, summary="Delete a counter")
def delete_counter(request: ApiRequest, name: str) -> None:
    """It begins at 0 again when something is added."""
    if not totals.delete(request.auth.user, name):
        raise Http404
