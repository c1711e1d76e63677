"""The hook that checks the order of locks sees every way to lock a row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.db import transaction
from django.db.models.functions import Now

from common.database import postgres
from notifications.models import Delivery, Notification
from people.models import User
from people.user_lock import lock_at_once, lock_in_transaction
from schedules.models import Schedule
from tests.db.lock_order import OF_TRIGGERS, locks_of
from tests.make import make_channel, make_delivery, make_schedule


@pytest.mark.parametrize(
    ("statement", "locks"),
    [
        ("SELECT 1 FROM schedules_schedule", []),
        ('SELECT "id" FROM "schedules_schedule" FOR UPDATE', [("schedules_schedule", True)]),
        (
            "SELECT FROM jobs_job d JOIN people_user p ON p.id = d.user_id FOR NO KEY UPDATE OF d SKIP LOCKED",
            [("jobs_job", False)],
        ),
        (
            "SELECT FROM jobs_job d JOIN people_user p ON p.id = d.user_id FOR NO KEY UPDATE OF p, d",
            [("people_user", True), ("jobs_job", True)],
        ),
        (
            "WITH one AS (UPDATE jobs_job d SET state = '' RETURNING id) SELECT FROM one, people_user",
            [("jobs_job", True)],
        ),
        ("INSERT INTO jobs_job VALUES (1) ON CONFLICT (id) DO UPDATE SET state = ''", []),
        (
            "UPDATE notifications_delivery d SET state = '', settled_at = now() FROM asked",
            [("notifications_delivery", True), ("notifications_notification", True)],
        ),
        ("UPDATE notifications_delivery SET state = 'sending' WHERE true", [("notifications_delivery", True)]),
    ],
)
def test_statements_say_what_they_lock(statement: str, locks: list[tuple[str, bool]]) -> None:
    assert locks_of(statement) == locks


def test_a_model_names_the_rows_that_its_triggers_lock() -> None:
    for model in apps.get_models():
        table, named = model._meta.db_table, OF_TRIGGERS.get(model._meta.db_table, [])
        for trigger in getattr(model._meta, "triggers", ()):
            text = str(trigger.get_func(model))
            locked = {one for part in re.findall(r"(SELECT.*?|UPDATE .*?);", text, re.S) for one, _ in locks_of(part)}
            assert locked <= {table, *named}, trigger
    assert OF_TRIGGERS == {"notifications_delivery": ["notifications_notification"]}


def test_only_what_is_deleted_is_locked_whole() -> None:
    """FOR UPDATE makes the inserts wait that refer to a row."""
    whole = {
        str(path)
        for app in ("api", "common", "events", "jobs", "notifications", "people", "schedules", "watches", "work")
        for path in Path(app).rglob("*.py")
        if re.search(r"\bFOR UPDATE\b|select_for_update\((?!.*no_key=True)", path.read_text())
    }
    assert whole == {
        "common/database/postgres.py",
        "events/topics/subscriptions.py",
        "schedules/tasks.py",
        "watches/status_pages/status.py",
        "watches/status_pages/subscribers.py",
        "work/retention.py",
    }


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


def test_a_delivery_that_ends_before_its_notification_is_locked_is_the_wrong_order(ada: User) -> None:
    delivery = make_delivery(make_channel(ada))
    ends = {"state": "cancelled", "settled_at": Now()}
    with pytest.raises(AssertionError, match="notifications_notification is locked after"), transaction.atomic():
        Delivery.objects.filter(id=delivery.id).update(**ends)
    with transaction.atomic():
        Notification.objects.select_for_update(no_key=True).get(id=delivery.notification_id)
        Delivery.objects.filter(id=delivery.id).update(**ends)
