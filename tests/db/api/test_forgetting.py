"""The answers of idempotency keys are kept for a day."""

from __future__ import annotations

from datetime import timedelta

from celery import current_app
from django.conf import settings
from django.utils import timezone

from api.models import StoredAnswer
from people.models import User


def test_answers_older_than_a_day_are_deleted_by_a_task_that_beat_runs(ada: User) -> None:
    current_app.loader.import_default_modules()  # as a worker does
    entry = settings.CELERY_BEAT_SCHEDULE["forget-answers"]
    for key, hours in (("old", 25), ("new", 23)):
        row = StoredAnswer.objects.create(user=ada, key=key, fingerprint="x", status=201)
        StoredAnswer.objects.filter(id=row.id).update(created_at=timezone.now() - timedelta(hours=hours))
    assert current_app.tasks[entry["task"]].run() == 1
    assert StoredAnswer.objects.get().key == "new"
