"""A row or a value that Python cannot read hides no other; an outage is no damage."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError

from common.database.damaged import object_of, readable
from people.models import User
from tests.make import make_user


@pytest.fixture
def people(db: None) -> list[User]:
    return [make_user() for _ in range(4)]


def fail(monkeypatch: pytest.MonkeyPatch, row: User, *errors: Exception) -> None:
    """Have each read of the row fail in turn, and further ones as the last."""
    real, left = User.from_db, [*errors]

    def from_db(db: str, names: Any, values: Any) -> User:
        if values[0] == row.pk:
            raise left.pop(0) if len(left) > 1 else left[0]
        return real(db, names, values)

    monkeypatch.setattr(User, "from_db", from_db)


def test_a_damaged_row_hides_no_other_of_its_page(people: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    page = User.objects.order_by("-pk")[:3]
    _, first, second, third = people
    assert readable(page.all()) == ([third, second, first], [])
    fail(monkeypatch, second, ValueError())
    assert readable(page.all()) == ([third, first], [second.pk])


@pytest.mark.parametrize("before", [[], [ValueError()]])
def test_an_outage_is_no_damage(people: list[User], before: list[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, people[1], *before, OperationalError(), ValueError())
    with pytest.raises(OperationalError):
        readable(User.objects.all())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[1]", {}),
        ("null", {}),
        ("nonsense", {}),
        ("[" * 100_000, {}),
        (f'{{"a": {"1" * 5_000}}}', {}),
    ],
)
def test_what_is_no_object_is_an_empty_one(text: str, value: object) -> None:
    assert object_of(text) == value
