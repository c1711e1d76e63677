"""What operators did to dead letters is kept for two years."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from pytest_django import Settings

from common.uuid7 import first_of, uuid7
from work import retention
from work.dead_letters import INTERVENTIONS
from work.models import Intervention, InterventionItem

pytestmark = pytest.mark.django_db(transaction=True)  # what refers to a row is checked at the commit


def ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def work_of(days: float) -> UUID:
    return UUID(int=first_of(ago(days)).int + uuid7().int % 2**60)


def make_intervention(days: float, *work: UUID) -> Intervention:
    fields = {"who": "ada@example.org", "what": "discarded", "kind": "delivery", "count": len(work)}
    made = Intervention.objects.create(at=ago(days), **fields)
    InterventionItem.objects.bulk_create(InterventionItem(intervention=made, work_id=key) for key in work)
    return made


def test_interventions_go_after_two_years_with_what_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_CHUNK", 2)
    make_intervention(731, *(work_of(732) for _ in range(5)))
    kept = [make_intervention(729, work_of(732)), make_intervention(1, work_of(2))]
    assert INTERVENTIONS.count() == 5
    assert INTERVENTIONS.prune() == 5
    assert set(Intervention.objects.all()) == set(kept)
    assert InterventionItem.objects.count() == 2


def test_one_stays_as_long_as_a_younger_one_of_the_same_work(settings: Settings) -> None:
    twice = work_of(800)
    make_intervention(731, twice)
    make_intervention(729, twice)
    assert INTERVENTIONS.prune() == 0
    settings.INTERVENTIONS_KEPT_DAYS = 728
    assert INTERVENTIONS.prune() == 2
    assert not Intervention.objects.exists()
