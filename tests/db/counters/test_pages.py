"""The pages of counters, and what their charts show."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from common.database import sums
from counters import totals
from counters.models import Rollup, Shard
from people.models import User
from tests.make import make_user, signed_in

pytestmark = pytest.mark.django_db


def test_a_counter_is_created_read_and_deleted_after_a_question(ada: User) -> None:
    page = signed_in(ada)
    assert b"No counters yet" in page.get("/counters/").content
    created = page.post("/counters/", {"name": "builds"})
    assert created["Location"] == "/counters/builds/"
    for number in range(1, 3):
        totals.add(ada, "builds", number * 1_000)
    assert "3,000" in page.get("/counters/").text
    assert "3,000" in page.get("/counters/builds/").text
    assert totals.values(make_user()) == {}
    assert "3,000" in page.get("/counters/builds/delete/").text
    assert totals.values(ada) == {"builds": 3_000}
    assert page.post("/counters/builds/delete/")["Location"] == "/counters/"
    assert not Shard.objects.exists()
    assert page.get("/counters/builds/").status_code == page.post("/counters/builds/delete/").status_code == 404


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "a\x00", "a\x07", "ä", "x" * 101, "taken"])
def test_a_wrong_name_is_refused_at_its_field(ada: User, name: str) -> None:
    totals.add(ada, "taken", 5)
    refused = signed_in(ada).post("/counters/", {"name": name})
    assert list(refused.context["form"].errors) == ["name"]
    assert totals.values(ada) == {"taken": 5}


def test_nobody_sees_or_deletes_the_counters_of_others_or_has_too_many(
    ada: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals.add(ada, "builds", 1)
    stranger = signed_in(make_user())
    assert list(stranger.get("/counters/").context["page"]) == []
    assert stranger.get("/counters/builds/").status_code == 404
    assert stranger.post("/counters/builds/delete/").status_code == 404
    assert client.get("/counters/").status_code == 302
    monkeypatch.setattr(totals, "MOST", 0)
    monkeypatch.setattr(totals, "_ADD", totals._ADD.replace("1000", "0"))
    assert list(stranger.post("/counters/", {"name": "one"}).context["form"].errors) == ["__all__"]


def test_the_chart_shows_what_was_added_by_minute_and_by_day(
    ada: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(sums, "_is_started", True)
    with django_capture_on_commit_callbacks(execute=True):
        for by in (5, 7, -2):
            totals.add(ada, "builds", by)
        totals.add(ada, "gone", 1)
    totals.delete(ada, "gone")
    assert not Rollup.objects.exists()
    totals._rollups.flush()
    totals._rollups.flush()
    assert sorted(Rollup.objects.values_list("name", "span", "value")) == [("builds", 60, 10), ("builds", 86_400, 10)]
    page = signed_in(ada)
    for path, count in (("/counters/builds/", 60), ("/counters/builds/?by=day", 30)):
        bars = page.get(path).context["bars"]
        assert len(bars) == count
        # A minute or a day may have ended since.
        assert [bar.value for bar in bars if bar.value] == [10]
    minute = timezone.now().replace(second=0, microsecond=0)
    Rollup.objects.create(user=ada, name="builds", span=60, start=minute - timedelta(minutes=30), value=-4)
    bars = page.get("/counters/builds/").context["bars"]
    assert [(bar.value, bar.height) for bar in bars if bar.value] == [(-4, 400), (10, 1_000)]
    assert sum(totals.history(ada, "builds", totals.MINUTE, 60).values()) == 6
    assert totals.values(ada) == {"builds": 10}


def test_a_chart_leaves_out_what_was_added_before_it_begins_or_by_others(ada: User) -> None:
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for ago in (1, 29, 30):
        Rollup.objects.create(user=ada, name="builds", span=86_400, start=today - timedelta(days=ago), value=ago)
    Rollup.objects.create(user=make_user(), name="builds", span=86_400, start=today, value=30)
    days = totals.history(ada, "builds", totals.DAY, 30)
    assert list(days) == sorted(days)
    assert len(days) == 30
    assert 30 not in days.values()


def test_old_numbers_of_charts_are_forgotten_and_go_with_their_counter(ada: User) -> None:
    now = timezone.now()
    totals.add(ada, "builds", 1)
    for span, ago in ((60, 0.05), (60, 0.1), (86_400, 300), (86_400, 367)):
        Rollup.objects.create(user=ada, name="builds", span=span, start=now - timedelta(days=ago), value=1)
    assert totals.forget() == 2
    assert sorted(Rollup.objects.values_list("span", flat=True)) == [60, 86_400]
    totals.delete(ada, "builds")
    assert not Rollup.objects.exists()


def test_operators_see_a_counter_once_with_its_sum(ada: User) -> None:
    for number in (3, 4, 9):
        Shard.objects.create(user=ada, name="builds", number=number, value=number)
    page = signed_in(make_user(is_staff=True, is_superuser=True)).get("/admin/counters/shard/")
    assert [(row.name, row.total) for row in page.context["cl"].result_list] == [("builds", 16)]
