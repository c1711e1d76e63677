"""Watched values and feeds, from their slots to what is said, against a real server."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from common.parsing import pool
from demo.receivers import HTTPReceiver, Received, Reply
from jobs.models import Job, Memory, Result
from notifications.models import Notification
from people import tokens
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import NINE, check, edit_schedule, make_connection, make_job_schedule, make_user, signed_in


@pytest.fixture
def shop(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver() as server:
        yield server


def price(amount: str) -> Reply:
    return Reply(body=f"<p>Only <b class=price>{amount}</b>".encode())


def watching(shop: HTTPReceiver, kind: str = "web_value", **payload: Any) -> Schedule:
    question = (
        {"condition": "below", "limit": "100", "how": "html", "expression": ".price"} if kind == "web_value" else {}
    )
    return make_job_schedule(
        make_user(), kind, question | payload | {"url": shop.url}, title="{value}", body="{change}"
    )


def on_day(day: int, schedule: Schedule) -> Job:
    """The job of this day's slot, checked until it has ended, with each message twice."""
    fire.fire_due(NINE + timedelta(days=day))
    job = Job.objects.filter(origin_id=schedule.id).latest("id")
    while check(job).state == "pending":
        pass
    return check(job)


def said() -> list[str]:
    return list(Notification.objects.filter(origin="schedule").order_by("id").values_list("subject", flat=True))


def told() -> list[str]:
    notices = Notification.objects.filter(origin="notice").order_by("id")
    return [subject.rpartition("”")[2].lstrip(": ") for subject in notices.values_list("subject", flat=True)]


def test_a_price_watch_rings_when_the_value_falls_and_once(shop: HTTPReceiver) -> None:
    schedule = watching(shop)
    evidence = []
    for day, amount in enumerate(["120 €", "90 €", "80 €", "120 €", "95,50 €"]):
        shop.answer = price(amount)
        evidence.append(on_day(day, schedule).reason_code)
    assert said() == ["90 €", "95,50 €"]
    assert evidence == ["web-does-not-hold", "web-holds", "web-still-holds", "web-does-not-hold", "web-holds"]
    assert len(shop.requests) == 5


def test_a_new_limit_that_holds_already_rings_once_too(shop: HTTPReceiver) -> None:
    schedule = watching(shop)
    shop.answer = price("90 €")
    on_day(0, schedule)
    schedule.refresh_from_db()
    edit_schedule(schedule, NINE + timedelta(hours=1), job_payload={**(schedule.job_payload or {}), "limit": "95"})
    assert [on_day(day, schedule).reason_code for day in (1, 2)] == ["web-holds", "web-still-holds"]
    assert said() == ["90 €", "90 €"]


def test_a_feed_that_brings_nothing_for_long_is_told_once_and_on_its_page_and_over_the_api(shop: HTTPReceiver) -> None:
    schedule = watching(shop, "feed")
    shop.answer = Reply(body=b"<rss><channel><item><guid>1</guid><title>One</title></item></channel></rss>")
    on_day(0, schedule)
    on_day(1, schedule)
    assert told() == []
    memory = Memory.objects.get(origin_id=schedule.id)
    since = datetime.fromisoformat(memory.state["silence"]["since"]) - timedelta(days=30)
    memory.state["silence"]["since"] = since.isoformat()
    memory.save()
    on_day(2, schedule)
    on_day(3, schedule)
    assert told() == ["has brought nothing for long"]
    _row, token = tokens.create(schedule.user, "Test", tuple(tokens.SCOPES), None)
    client = Client(headers={"Authorization": f"Bearer {token}"})
    items = client.get(f"/api/v1/schedules/{schedule.id}/occurrences").json()["items"]
    assert datetime.fromisoformat(items[0]["check"]["silent_started_at"]) == since
    assert "It has brought nothing since" in signed_in(schedule.user).get(f"/reminders/{schedule.id}/").text


def test_a_page_that_alternates_is_told_at_each_change_and_no_change_twice(shop: HTTPReceiver) -> None:
    schedule = watching(shop, condition="changed")
    for day in range(5):
        shop.answer = price(f"{10 + day % 2} €")
        on_day(day, schedule)
    assert said() == ["11 €", "10 €", "11 €", "10 €"]


def test_a_page_that_answers_500_for_a_day_is_told_once_and_works_again(shop: HTTPReceiver) -> None:
    schedule = watching(shop)
    shop.answer = Reply(500)
    assert {on_day(day, schedule).state for day in range(8)} == {"dead"}
    assert (told(), said(), len(shop.requests)) == (["the check failed"], [], 24)
    shop.answer = price("90 €")
    on_day(8, schedule)
    on_day(9, schedule)
    assert (told(), said()) == (["the check failed", "works again"], ["90 €"])
    assert Memory.objects.get(origin_id=schedule.id).failures == 0


def test_an_address_that_turns_private_is_told_and_not_tried_again(shop: HTTPReceiver, settings: Settings) -> None:
    schedule = watching(shop)
    shop.answer = Reply(302, {"Location": "http://169.254.169.254/latest/meta-data/"})
    job = on_day(0, schedule)
    assert (job.state, job.reason_code, job.tries, told()) == ("dead", "private-network", 1, ["the check failed"])


def test_one_hostile_page_stops_no_other(shop: HTTPReceiver) -> None:
    bombs = [Reply(body=b"<div>" * 400_000), Reply(body=b"x" * 3_000_000), Reply(headers={"Content-Encoding": "br"})]
    shop.answers.extend(bombs)
    shop.answer = price("90 €")
    schedules = [watching(shop) for _ in range(4)]
    assert [on_day(0, schedule).state for schedule in schedules] == ["dead", "dead", "dead", "decided"]
    assert said() == ["90 €"]


_ENTITIES = "<!DOCTYPE rss [<!ENTITY a 'xxxxxxxxxx'>" + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)
_SIBLINGS = "<p>" + "<div></div>" * 170_000
HOSTILE: dict[str, tuple[str, dict[str, Any], str, list[Any]]] = {
    "n² by a selector": ("web_value", {"expression": "div:nth-child(999999)"}, _SIBLINGS, ["seconds", 1]),
    "nested HTML": ("web_value", {}, "<div>" * 400_000, ["depth", 2048]),
    "nested JSON": ("web_value", {"how": "json", "expression": "a"}, "[" * 1_000_000, ["depth", 1000]),
    "many JSON values": ("web_value", {"how": "json", "expression": "a"}, "[" + "1," * 990_000 + "1]", []),
    "copies by JMESPath": (
        "web_value",
        {"how": "json", "expression": "[@,@]" + "|[@,@]" * 12},
        "[" + "1," * 200_000 + "1]",
        ["seconds", 1, "items", 2_000_000],  # whichever comes first on this machine
    ),
    "600,000 elements of a feed": ("feed", {}, "<rss>" + "<a/>" * 480_000, []),
    "a feed of nested JSON": ("feed", {}, '{"a":' * 300_000, ["depth", 1000]),
    "entities": ("feed", {}, f"{_ENTITIES}]><rss><title>&j;</title></rss>", []),
    # A quick machine reads them within the second.
    "attributes": ("feed", {}, "<rss " + " ".join(f"xmlns:a{n}='u{n}'" for n in range(90_000)) + ">", []),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_costs_too_much_is_dead_at_once_with_its_limit_and_alone(
    name: str, shop: HTTPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "SECONDS", 1)
    kind, payload, body, limit = HOSTILE[name]
    shop.answers.append(Reply(body=body.encode()))
    shop.answer = price("90 €")
    schedules = [watching(shop, kind, **payload), watching(shop)]
    hostile, honest = (on_day(0, schedule) for schedule in schedules)
    assert (hostile.state, hostile.tries, honest.state) == ("dead", 1, "decided")
    if limit:
        assert hostile.reason_code == "over-budget"
        assert hostile.reason_params["limit"] in (limit[:2], limit[2:])


def test_a_bomb_of_a_compression_is_dead_at_once(shop: HTTPReceiver) -> None:
    shop.answer = Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(300_000_000), 1))
    job = on_day(0, watching(shop))
    assert (job.state, job.tries, job.reason_code) == ("dead", 1, "source-too-large")


def test_an_unchanged_feed_is_not_read_again_and_each_entry_is_told_once(shop: HTTPReceiver) -> None:
    entries = ["a"]

    def answer(request: Received) -> Reply:
        tag = f'"{len(entries)}"'
        if request.headers.get("If-None-Match") == tag:
            return Reply(304, body=b"")
        items = "".join(f"<item><title>{name}</title></item>" for name in entries)
        return Reply(headers={"ETag": tag}, body=f"<rss><channel>{items}</channel></rss>".encode())

    shop.answer = answer
    schedule = watching(shop, "feed")
    Schedule.objects.update(title="{count}: {title}")
    for day, names in enumerate(["a", "a", "cba", "cba", "dcba"]):
        entries[:] = names
        on_day(day, schedule)
    assert said() == ["2: c", "1: d"]
    assert Result.objects.count() == 1


def test_what_was_unreachable_is_not_taken_for_the_answer_that_is_known(shop: HTTPReceiver) -> None:
    schedule = watching(shop, condition="unreachable")
    evidence = []
    for day, status in enumerate([200, 500, 304, 500]):
        shop.answer = Reply(status, {"ETag": '"1"'} if status == 200 else {}, b"")
        evidence.append(on_day(day, schedule).reason_code)
    assert evidence == ["web-reachable", "web-unreachable", "web-reachable", "web-unreachable"]
    assert len(said()) == 2


def test_a_connection_lends_its_headers_and_no_row_shows_them(shop: HTTPReceiver) -> None:
    schedule = watching(shop)
    secrets = {"X-Key": "planted-9f2"}
    Schedule.objects.update(
        connection=make_connection(schedule.user, "address", address={"url": shop.origin + "/"}, secrets=secrets)
    )
    shop.answers.append(Reply(200, {"ETag": '"1"'}, b"<b class=price>90</b>"))
    shop.answer = Reply(401)
    assert [on_day(day, schedule).reason_code for day in range(3)] == [
        *("web-holds", "source-refused", "connection-disabled")
    ]
    assert [request.headers.get("X-Key") for request in shop.requests] == ["planted-9f2"] * 2
    rows = [*Job.objects.values_list(), *Memory.objects.values_list(), *Result.objects.values_list()]
    assert "planted" not in str([*rows, *Notification.objects.values_list()])
