"""A worker that is killed while it records the repeat of a message, in a process of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from django.utils import timezone

from notifications.models import Delivery, Notification
from tests.make import make_fired, settle, taken
from tests.process.notifications.conftest import run_in_a_process
from work.engine import rescue

_RESCUE = "import django; django.setup()\nfrom notifications.deliveries import nag\nnag.advance()"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("barrier", "recorded"), [("advancing", 0), ("publishing", 1)])
def test_a_worker_killed_with_a_repeat_records_it_once(barrier: str, recorded: int, tmp_path: Path) -> None:
    first, _ = make_fired(in_order=False, nag_every=10, nag_times=2)
    for delivery in first.deliveries.all():
        settle(taken(delivery.id), "delivered")
    Notification.objects.update(nag_at=timezone.now())
    (tmp_path / barrier).write_text("kill")
    killed = run_in_a_process(_RESCUE, CARILLON_FAULT_POINTS=str(tmp_path))
    assert killed.returncode == -signal.SIGKILL, killed.stdout
    repeats = Notification.objects.filter(nag_of=first.id)
    assert repeats.count() == recorded
    assert [rescue.rescue()["followed"] for _ in range(2)] == [1 - recorded, 0]
    assert (repeats.count(), Delivery.objects.filter(notification__in=repeats).count()) == (1, 3)
