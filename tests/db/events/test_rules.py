"""The operations on rules, and what the database refuses of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from pytest_django import Settings

from common.forms.not_possible import LimitReached
from events.models import Rule
from events.rules import changes
from people.models import User
from tests.make import make_channel, make_rule, make_user


def make_unsaved(user: User, **overrides: Any) -> Rule:
    return Rule(**{"user": user, "name": "Orders", "type_pattern": "order.*", "title": "Order"} | overrides)


def test_each_change_is_a_version_and_a_stale_one_is_a_conflict() -> None:
    user = make_user()
    mail = [make_channel(user, "email")]
    rule = changes.create(make_unsaved(user), mail)
    assert changes.change(make_unsaved(user, id=rule.id, name="New"), mail).version == 2
    with pytest.raises(changes.VersionConflict) as caught:
        changes.change(make_unsaved(user, id=rule.id, name="Lost"), mail)
    assert caught.value.current.name == "New"
    changes.delete(rule.id)
    with pytest.raises(changes.VersionConflict):
        changes.change(make_unsaved(user, id=rule.id, version=3), mail)


def test_the_limit_counts_neither_deleted_ones_nor_those_of_others(settings: Settings) -> None:
    settings.MOST_RULES = 2
    user = make_user()
    make_rule(user)
    make_rule(user, deleted_at="2026-06-01T12:00Z")
    make_rule(make_user())
    changes.require_room(user)
    make_rule(user)
    with pytest.raises(LimitReached):
        changes.require_room(user)


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_at_once_one_is_a_conflict() -> None:
    user = make_user()
    mail = [make_channel(user, "email")]
    rule = changes.create(make_unsaved(user), mail)

    def change(name: str) -> str:
        try:
            return changes.change(make_unsaved(user, id=rule.id, name=name), mail).name
        except changes.VersionConflict:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(change, ["a", "b", "c", "d"]))
    assert sorted(done)[:3] == ["", "", ""]
    assert Rule.objects.get().name == max(done)
    assert Rule.objects.get().version == 2


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("conditions = (repeat('[', 5000) || repeat(']', 5000))::jsonb", "rule_readable_conditions"),
        ("conditions = (repeat('9', 5000))::jsonb", "rule_readable_conditions"),
        ("created_at = 'infinity'", "rule_readable_instants"),
        ("updated_at = '-infinity'", "rule_readable_instants"),
        ("deleted_at = '0044-03-15 BC'", "rule_readable_instants"),
        ("throttle_count = 3", "rule_throttle_whole"),
        ("digest_seconds = 60, digest_at = '09:00'", "rule_one_digest"),
    ],
)
def test_the_database_refuses_what_no_page_could_show(change: str, constraint: str) -> None:
    make_rule(make_user())
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE events_rule SET {change}")  # noqa: S608 - the table above
