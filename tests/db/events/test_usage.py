"""The quota of a person: what passes, what is refused, and what is shown of it."""

from __future__ import annotations

import json
from datetime import datetime, time, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from common.database.postgres import query
from events.intake import direct, ledger, usage
from events.kinds.digest import DIGEST
from events.models import Digest, Event, Usage
from events.pure.envelope import Envelope
from jobs.models import Job
from people.models import User
from tests.db.api.conftest import Api
from tests.db.events.test_inbound import ORDER, make_address, post
from tests.make import NOON, happen, make_channel, make_rule, make_user, signed_in
from work.engine import runner
from work.reasons import NO_REASON


def publish(user: User, count: int = 1, size: int = 0) -> None:
    ledger.record(user.pk, [Envelope("order.paid", {"text": "x" * size}) for _ in range(count)])


def test_events_of_a_day_are_counted_once_each(ada: User) -> None:
    again = Envelope("order.paid")
    ledger.record(ada.pk, [again, Envelope("order.paid")])
    ledger.record(ada.pk, [again])
    assert usage.used(ada.pk).events == 2


def test_bytes_are_counted_of_what_is_new_only(ada: User) -> None:
    large = [Envelope("order.paid", {"text": "x" * 9_000}, key="large")]
    queue = make_channel(ada, "queue")
    used = [0]
    for _ in range(2):
        ledger.record(ada.pk, [*large, Envelope("order.paid")])
        direct.send(queue, [*large, Envelope("order.paid")])
        used.append(usage.used(ada.pk).bytes)
    assert 18_000 < used[1] < used[2] < used[1] + 9_000


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("EVENTS_PER_PERSON_PER_MINUTE", "events-a-minute"),
        ("EVENTS_PER_PERSON_PER_DAY", "events-a-day"),
        ("EVENT_MEGABYTES_PER_PERSON_PER_DAY", "bytes-a-day"),
    ],
)
def test_what_is_over_the_quota_is_refused_by_api_and_address_and_kept(
    ada: User, settings: Settings, limit: str, code: str
) -> None:
    for one in (limit, "EVENTS_PER_PERSON_PER_DAY"):
        setattr(settings, one, 3 if limit == one else 1_000)
    if code == "bytes-a-day":
        settings.EVENT_MEGABYTES_PER_PERSON_PER_DAY = 1
        publish(ada, 10, 110_000)
    else:
        publish(ada, 3)
    before = Event.objects.count()
    refused = Api(ada).post("/events", {"type": "order.paid"})
    assert (refused.status_code, refused.json()["code"]) == (429, code)
    assert int(refused["Retry-After"]) >= 1
    address = make_address(ada)
    answer = post(ORDER)
    assert (answer.status_code, answer.json()["code"]) == (429, code)
    assert int(answer["Retry-After"]) >= 1
    assert (address.requests.get().reason_code, Event.objects.count()) == (code, before)


def test_it_says_when_the_next_minute_and_the_next_day_begin(ada: User) -> None:
    used, [now] = usage.used(ada.pk), query("SELECT now() AT TIME ZONE 'UTC' AS at", [])
    assert 0 <= used.next_minute - (60 - now.at.second - now.at.microsecond / 1e6) < 1
    midnight = datetime.combine(now.at.date() + timedelta(days=1), time())
    assert 0 <= used.tomorrow - (midnight - now.at).total_seconds() < 1
    assert usage.QuotaReached(NO_REASON, 0).wait == 1


def test_an_operator_gives_a_person_another_quota(ada: User, settings: Settings) -> None:
    settings.EVENTS_PER_PERSON_PER_DAY = 2
    User.objects.filter(pk=ada.pk).update(events_per_day=5)
    publish(ada, 5)
    with pytest.raises(usage.QuotaReached):
        publish(ada)
    User.objects.filter(pk=ada.pk).update(events_per_day=0)
    publish(ada, 10)
    page = signed_in(is_staff=True, is_superuser=True).get(f"/admin/people/user/{ada.pk}/change/").content.decode()
    assert "events_per_day" in page


def test_messages_of_rules_count_and_a_new_day_begins_anew(ada: User) -> None:
    make_rule(ada, channels=[make_channel(ada)], conditions=[], body="x" * 5_000)
    happen(ada)
    used = usage.used(ada.pk)
    assert (used.events, used.this_minute, used.bytes > 5_000) == (1, 1, True)
    Usage.objects.update(day="2020-01-01", minute="2020-01-01T00:00Z")
    used = usage.used(ada.pk)
    assert (used.events, used.bytes, used.this_minute) == (0, 0, 0)
    publish(ada)
    used = usage.used(ada.pk)
    assert (used.events, used.this_minute) == (1, 1)
    assert 0 < used.bytes < 5_000


def test_all_count_people_in_one_order_so_that_none_waits_for_another() -> None:
    first, second = make_user(), make_user()
    usage.count((second.pk, 1, 0), (first.pk, 1, 0))
    assert list(Usage.objects.order_by("id").values_list("user_id", flat=True)) == [first.pk, second.pk]


def grown(user: User, before: int) -> int:
    return usage.used(user.pk).bytes - before


def test_digests_count_when_they_are_told(ada: User) -> None:
    make_rule(ada, channels=[make_channel(ada)], conditions=[], body="x" * 5_000, digest_seconds=60)
    happen(ada)
    before = usage.used(ada.pk).bytes
    Digest.objects.update(available_at=NOON, wake_at=NOON)
    runner.run(DIGEST, Digest.objects.get().id, "worker")
    assert grown(ada, before) > 5_000


def test_all_steps_of_a_series_count_when_it_begins(ada: User) -> None:
    rule = make_rule(ada, channels=[make_channel(ada)], conditions=[], body="")
    happen(ada)
    plain = usage.used(ada.pk).bytes
    rule.series = "\n".join(f"{day} days | Day {day} | {'x' * 1_000}" for day in range(1, 6))
    rule.save()
    happen(ada)
    # Each of five steps has a job with the texts of all, and a message with its own texts and a delivery.
    before, texts = grown(ada, plain), len(json.dumps(Job.objects.get().payload))
    assert before == plain + 5 * texts + texts + 5 * 3 * 300
    rule.channels.add(*(make_channel(ada, provider) for provider in ("email", "webhook")))
    happen(ada)
    assert grown(ada, plain + before) == before + 6 * 2 * 300  # two more deliveries of each message


def test_a_message_to_many_channels_counts_for_more(ada: User) -> None:
    channels = [make_channel(ada, "email", address={"address": f"{name}@example.org"}) for name in "abcdefgh"]
    rule = make_rule(ada, channels=channels[:1], conditions=[])
    happen(ada)
    before = usage.used(ada.pk).bytes
    rule.channels.set(channels)
    happen(ada)
    assert grown(ada, before) > before + 1_000


def test_it_is_shown_and_costs_one_statement(ada: User) -> None:
    publish(ada, 3)
    assert "3 of 100" in signed_in(ada).get("/events/").content.decode()
    shown = Api(ada).get("/me").json()["usage"]
    assert (shown["events"], shown["most_events"]) == (3, 100_000)
    with CaptureQueriesContext(connection) as captured:
        usage.check(ada.pk, 1)
    assert len(captured) == 1
