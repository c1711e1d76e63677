"""Old events are deleted with what hangs on them; dead letters and notifications stay."""

from __future__ import annotations

import runpy
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as configured
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.uuid7 import first_of
from config import settings
from events import tasks as retention
from events.intake import ledger
from events.models import Digest, DigestAttempt, Effect, Event, EventAttempt
from events.pure.envelope import Envelope
from notifications.models import Notification
from people.models import User
from tests.db.events.test_digests import make_digest_rule, send
from tests.make import happen, make_rule
from work import retention as engine


def age(found: Any, days: float) -> None:
    """Make these events or digests older, with what refers to them."""
    then = timezone.now() - timedelta(days=days)
    model = found.model
    key = {Event: "event_id", Digest: "digest_id"}[model]
    attempts = {Event: EventAttempt, Digest: DigestAttempt}[model]._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for number, row in enumerate(list(found.order_by("id")), 1):
            new = first_of(then).int + number
            id_ = f"{new:032x}"
            for table in (attempts, "events_effect"):
                cursor.execute(f"UPDATE {table} SET {key} = %s WHERE {key} = %s", [id_, row.id])  # noqa: S608
            cursor.execute(f"UPDATE {model._meta.db_table} SET id = %s WHERE id = %s", [id_, row.id])  # noqa: S608
        cursor.execute("SET session_replication_role = DEFAULT")
    model.objects.filter(settled_at__isnull=False).update(settled_at=then)


@pytest.mark.django_db(transaction=True)  # what refers to them is checked at the commit
def test_settled_events_go_with_their_attempts_and_effects_after_a_week_in_chunks(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_CHUNK", 2)
    make_rule(ada)
    for _ in range(5):
        happen(ada)
    dead = happen(ada, type="channel.disabled", data={})
    assert happen(ada, hops=9).state == "cancelled"
    age(Event.objects.all(), 8)
    waiting = Envelope("order.paid", delay=60)
    ledger.record(ada.pk, [waiting])
    happen(ada)
    with CaptureQueriesContext(connection) as captured:
        assert retention.prune() == 6
    # Three full chunks of events and an empty one; one each of digests, requests and runs.
    assert len(captured) == 4 + 3
    assert retention.prune() == 0
    assert Event.objects.get(state="dead").key == dead.key
    assert sorted(Event.objects.values_list("state", flat=True)) == ["dead", "handled", "pending"]
    assert (EventAttempt.objects.count(), Effect.objects.count()) == (2, 1)
    assert Notification.objects.count() == 6


def test_a_run_that_takes_long_leaves_the_rest_to_the_next(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_CHUNK", 1)
    monkeypatch.setattr(engine, "_LONGEST", -1.0)
    for _ in range(2):
        happen(ada)
    age(Event.objects.all(), 8)
    assert [retention.prune() for _ in range(3)] == [1, 1, 0]


@pytest.mark.parametrize(("days", "left"), [(6.9, 1), (7.1, 0)])
def test_events_are_kept_for_seven_days(ada: User, days: float, left: int) -> None:
    happen(ada)
    age(Event.objects.all(), days)
    retention.prune()
    assert Event.objects.count() == left


def test_an_event_that_was_handled_late_is_kept_from_then_on(ada: User) -> None:
    happen(ada)
    age(Event.objects.all(), 8)
    Event.objects.update(settled_at=timezone.now())
    assert retention.prune() == 0


def test_what_a_digest_has_not_told_stays_and_a_sent_one_goes_with_its_events(ada: User) -> None:
    make_digest_rule(ada)
    happen(ada)
    age(Event.objects.all(), 8)
    age(Digest.objects.all(), 8)
    assert retention.prune() == 0
    send()
    assert Notification.objects.get().data["count"] == 1
    Digest.objects.update(settled_at=timezone.now())
    assert retention.prune() == 1
    assert Digest.objects.get().state == "sent"
    age(Digest.objects.all(), 8)
    retention.prune()
    assert not Digest.objects.exists() and not DigestAttempt.objects.exists()
    assert Notification.objects.count() == 1


@pytest.mark.parametrize("days", [6, 0, -1, 10**9])
def test_less_than_the_changes_are_kept_or_too_long_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    monkeypatch.setenv("EVENTS_KEPT_DAYS", str(days))
    with pytest.raises(ImproperlyConfigured, match="EVENTS_KEPT_DAYS=7"):
        runpy.run_path(settings.__file__)


def test_beat_runs_it(ada: User) -> None:
    current_app.loader.import_default_modules()  # as a worker does
    happen(ada)
    age(Event.objects.all(), 8)
    assert current_app.tasks[configured.CELERY_BEAT_SCHEDULE["prune-events"]["task"]].run() == 1
