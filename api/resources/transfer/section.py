"""A list of the file, and the account that takes it over."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils.functional import Promise
from pydantic import BaseModel, ValidationError

from api.protocol import words
from api.protocol.problems import FieldError, invalid
from people.models import User
from people.user_lock import lock_in_transaction

Entry = dict[str, Any]
Documents = Iterable[Mapping[str, Any]]
Body = TypeVar("Body", bound=BaseModel)


@dataclass(slots=True)
class Taker:
    """The file's owner, and the labels of channels, connections and inbound addresses that came without a secret."""

    user: User
    now: datetime
    to_confirm: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Section:
    """A list of the file. An entry has an id and the fields of `body`; those in `same` recognise it.

    `add` adds a body whose ids are the person's, and returns the id of its row: the key, where it can be restored.
    `refusal` says why there is no room for one more. Without `has_ids`, only `same` recognises its rows.
    """

    name: Promise
    body: type[BaseModel]
    same: Iterable[str]
    rows: Callable[[User], QuerySet[Any]]
    documents: Callable[[QuerySet[Any]], Documents]
    add: Callable[[Taker, Any, UUID], UUID]
    restore: Callable[[Taker, UUID], object] | None = None
    refusal: Callable[[User], str] = lambda user: ""
    has_ids: bool = True

    def entries(self, rows: QuerySet[Any]) -> Iterator[Entry]:
        names = ("id", *self.body.model_fields)
        return ({name: one[name] for name in names if name in one} for one in self.documents(rows.order_by("id")))

    def lock(self, user: User) -> None:
        """Lock the person in the transaction. Raises a 422 problem if there is no room for one more."""
        lock_in_transaction(user)
        if refusal := self.refusal(user):
            raise invalid(FieldError("", refusal))


def read(model: type[Body], entry: Mapping[str, Any]) -> Body:
    """The fields of the entry that the model has. Raises a 422 problem."""
    try:
        return model.model_validate({name: entry[name] for name in model.model_fields if name in entry})
    except ValidationError as error:
        errors = [
            FieldError(".".join(map(str, one["loc"])), words.detail({**one}), one["type"]) for one in error.errors()
        ]
        raise invalid(*errors) from None
