"""Workers that are killed while they gather events and send digests, in processes of their own."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from events.intake import ledger
from events.kinds.digest import DIGEST
from events.kinds.event import EVENT
from events.models import Digest, Effect, Event
from events.pure.envelope import Envelope
from notifications.models import Delivery, Notification
from tests.db.events.test_digests import make_digest_rule
from tests.make import NOON, make_channel, make_user
from tests.process.notifications.conftest import run_in_a_process
from work.engine import rescue, runner
from work.kinds import Kind

# "writing" is within the transaction, once all is written.
_RUN = """
import os, signal, sys, uuid, django
django.setup()
from events.kinds import digest
from events.intake import handling
from work.engine import runner
from work.kinds import KINDS
if sys.argv[3] == "writing":
    def die(*_): os.kill(os.getpid(), signal.SIGKILL)
    handling.publish_after_commit = digest.publish_after_commit = die
runner.run(KINDS[sys.argv[1]], uuid.UUID(sys.argv[2]), "doomed")
"""


def run_and_die(kind: Kind[Any], work_id: object, point: str, folder: Path) -> None:
    (folder / point).write_text("kill")
    ended = run_in_a_process(_RUN, kind.name, str(work_id), point, CARILLON_FAULT_POINTS=str(folder))
    assert ended.returncode == -signal.SIGKILL, ended.stdout


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("point", ["claimed", "writing", "waking", "settled"])
def test_workers_killed_at_each_point_lose_no_event_and_tell_none_twice(point: str, tmp_path: Path) -> None:
    ada = make_user()
    make_digest_rule(ada, channels=[make_channel(ada)], digest_seconds=5)
    ledger.record(ada.pk, [Envelope("order.paid", {"order_id": number}) for number in range(3)])
    first, *others = Event.objects.order_by("id").values_list("id", flat=True)
    run_and_die(EVENT, first, point, tmp_path)
    for event_id in others:
        runner.run(EVENT, event_id, "worker")
    Event.objects.filter(state="handling").update(lease_until=NOON)
    rescue.rescue()
    for event_id in (first, *others):
        runner.run(EVENT, event_id, "worker")
    assert Effect.objects.filter(outcome="digested").count() == 3
    assert Digest.objects.get().gathered == 3

    Digest.objects.update(available_at=Now())
    digest_id = Digest.objects.get().id
    run_and_die(DIGEST, digest_id, point, tmp_path)
    assert Notification.objects.count() == (point in ("waking", "settled"))
    Digest.objects.filter(state="sending").update(lease_until=NOON)
    rescue.rescue()
    for _ in range(4):
        runner.run(DIGEST, digest_id, "worker")
    assert Digest.objects.get().state == "sent"
    assert Notification.objects.get().data["count"] == 3
    assert Delivery.objects.count() == 1
