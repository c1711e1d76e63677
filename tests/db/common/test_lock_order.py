"""The hook that checks the order of locks sees every way to lock a row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import transaction

from common.database import postgres
from people.models import User
from people.user_lock import lock_at_once, lock_in_transaction
from schedules.models import Schedule
from tests.db.lock_order import locked_by
from tests.make import make_schedule


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("SELECT 1 FROM schedules_schedule", set()),
        ('SELECT "id" FROM "schedules_schedule" FOR UPDATE', {"schedules_schedule"}),
        (
            "SELECT FROM jobs_job d JOIN people_user p ON p.id = d.user_id FOR NO KEY UPDATE OF d SKIP LOCKED",
            {"jobs_job"},
        ),
        ("WITH one AS (UPDATE jobs_job d SET state = '' RETURNING id) SELECT FROM one, people_user", {"jobs_job"}),
        ("INSERT INTO jobs_job VALUES (1) ON CONFLICT (id) DO UPDATE SET state = ''", set()),
    ],
)
def test_statements_say_what_they_lock(statement: str, tables: set[str]) -> None:
    assert locked_by(statement) == tables


def test_only_what_is_deleted_is_locked_whole() -> None:
    """FOR UPDATE makes the inserts wait that refer to a row."""
    whole = {
        str(path)
        for app in ("api", "common", "events", "jobs", "notifications", "people", "schedules", "work")
        for path in Path(app).rglob("*.py")
        if re.search(r"\bFOR UPDATE\b|select_for_update\((?!.*no_key=True)", path.read_text())
    }
    assert whole == {"events/topics/subscriptions.py", "schedules/changes/retention.py", "work/retention.py"}


def test_a_person_after_their_reminder_is_the_wrong_order(ada: User) -> None:
    made = make_schedule(ada)
    with transaction.atomic():
        lock_in_transaction(ada)
        Schedule.objects.select_for_update().get(id=made.id)
        lock_in_transaction(ada)
    with pytest.raises(AssertionError, match="people_user is locked after"), transaction.atomic():
        Schedule.objects.select_for_update().get(id=made.id)
        lock_at_once(ada.pk)
    with pytest.raises(AssertionError, match="people_user is locked after"), transaction.atomic():
        postgres.change("UPDATE schedules_schedule SET title = '' WHERE id = %s", [made.id])
        User.objects.filter(pk=ada.pk).update(name="")
