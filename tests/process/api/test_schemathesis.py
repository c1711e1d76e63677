"""Schemathesis attacks every operation of a running server: examples, limits, random bodies, and chains of calls.

`SCHEMATHESIS_EXAMPLES=200` runs longer than the sample of CI, `SCHEMATHESIS_SEED=7` another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from counters.models import Shard
from events.models import Event, InboundRequest, RegisteredType, Run, Subscription, Topic
from jobs.models import Batch, Job
from people import teams, tokens
from people.models import CallOverride, Membership, User
from schedules.firing import fire
from schedules.models import Holiday
from tests.db.events.test_inbound import make_address
from tests.make import (
    make_channel,
    make_connection,
    make_delivery,
    make_failed_step,
    make_rule,
    make_schedule,
    make_user,
    make_watch,
)
from tests.process.web import Web
from watches.models import Badge, StatusPage

SECRET = "whsec_" + "c2VjcmV0" * 4
pytestmark = pytest.mark.django_db(transaction=True)

# What a schema cannot say is refused with 422, such as a cron expression, a time that has passed, or a wrong code.
CONFIG = """
[generation]
allow-x00 = false

[phases.stateful]
max-steps = 8
inference.algorithms = []  # only by the links of the document
generation.max-examples = 25
generation.mode = "positive"

[[operations]]
include-operation-id = [
    "create_schedule", "replace_schedule", "change_schedule", "preview_schedule", "quick_add_schedule",
    "snooze_schedule", "check_job", "change_schedules", "create_holiday", "replace_holiday", "send_message",
    "snooze_notification", "create_token", "change_settings", "create_override",
    "add_channel", "change_channel", "verify_channel", "add_connection", "change_connection",
    "create_status_webhook", "change_status_webhook", "verify_status_webhook", "list_changes",
    "create_rule", "replace_rule", "change_rule", "preview_rule", "publish", "create_inbound", "replace_inbound",
    "create_watch", "replace_watch", "change_watch", "create_status_page", "change_status_page",
    "acquire_lock", "renew_lock", "release_lock", "write_on_board",
    "create_public_incident", "change_public_incident", "create_badge",
    "create_topic", "change_topic", "add_person", "subscribe", "settle_messages", "publish_messages"
]
checks.positive_data_acceptance.expected-statuses = ["2xx", 403, 404, 409, 422, 429]
"""
# Their bodies have the fields of operations that create, and would take half of the run's time.
SHORT = """
[[operations]]
include-operation-id = [
    "replace_schedule", "change_schedule", "preview_schedule", "check_job",
    "replace_rule", "change_rule", "preview_rule", "replace_watch", "change_watch",
    "replace_inbound", "change_status_webhook"
]
phases.coverage.enabled = false
"""


def make_event(person: User) -> Event:
    known = {"key": uuid4(), "correlation_id": uuid4()}
    return Event.objects.create(user=person, type="order.paid", occurred_at=timezone.now(), **known)


def make_rows(person: User) -> dict[str, Any]:
    """What each parameter of a path may name. Several of each, for some calls remove them."""
    inbox, now = make_channel(person), fire.read_clock().now
    hooks = [make_channel(person, "webhook") for _ in range(10)]
    letters = [make_delivery(hook, state="dead") for hook in hooks]
    sent = [make_delivery(inbox) for _ in range(10)]
    status = {"address": {"url": "https://example.org", "types": ["delivery.*"]}}
    addresses = [make_address(person, token=uuid4().hex) for _ in range(10)]
    topics = [Topic.objects.create(user=person, slug=f"t{number}", name="Topic") for number in range(10)]
    event = make_event(person)
    chain, flow = {"correlation_id": uuid4()}, {"flow": "incident", "state": {"phase": "open"}}
    runs = [Run.objects.create(user=person, key=str(number), **flow, **chain) for number in range(10)]
    counter = Shard.objects.create(user=person, name="builds", number=0, value=1)
    queues = [make_channel(person, "queue") for _ in range(3)]
    member = Membership.objects.get(team=teams.create(person, "Family"))
    for queue in queues * 5:
        make_delivery(queue)
    for one in sent[:5]:
        Batch.objects.create(id=one.notification.batch_id, user=person, audience="topic", message={"title": "News"})
    rows: dict[str, list[Any]] = {
        "schedule_id": [make_schedule(person, [inbox], now) for _ in range(20)],
        "check_id": [Job.objects.create(user=person, kind="sample", slot=now, preview={}) for _ in range(10)],
        "holiday_id": [Holiday.objects.create(user=person, first="2999-08-03", last="2999-08-17") for _ in range(10)],
        "rule_id": [make_rule(person, channels=[inbox]) for _ in range(20)],
        "watch_id": (watches := [make_watch(person, [inbox]) for _ in range(20)]),
        "page_id": (pages := [StatusPage.objects.create(user=person, title="Ours") for _ in range(10)]),
        "incident_id": [page.incidents.create(title="Slow") for page in pages],
        "badge_id": [Badge.objects.create(user=person, watch=watch) for watch in watches],
        "channel_id": [*hooks, *(make_channel(person, "email", verified_at=None) for _ in range(3))],
        "event_type_id": [
            RegisteredType.objects.create(user=person, name=f"order.kind{number}", data_schema="{}")
            for number in range(10)
        ],
        "run_id": runs,
        "step_id": [make_failed_step(run) for run in runs],
        "connection_id": [make_connection(person) for _ in range(10)],
        "webhook_id": [make_channel(person, "status", {"secret": SECRET, "path": "/"}, **status) for _ in range(10)],
        "delivery_id": letters,
        "notification_id": [one.notification for one in sent],
        "token_id": [tokens.create(person, "Old", ["read"], None)[0] for _ in range(5)],
        "queue_id": queues,
        "team_id": [member.team],
        "override_id": [
            CallOverride.objects.create(member=member, begins_at=now, ends_at=now + timedelta(days=day))
            for day in range(1, 11)
        ],
        "board_id": [make_channel(person, "board") for _ in range(3)],
        "address_id": addresses,
        "inbound_request_id": [
            InboundRequest.objects.create(address=one, status=202, body='{"a": 1}') for one in addresses
        ],
        "topic_id": topics,
        "subscription_id": [
            Subscription.objects.create(topic=one, address=f"{one.slug}@example.net") for one in topics
        ],
    }
    ids = {name: [str(one.pk) for one in found] for name, found in rows.items()}
    return {
        "path": ids
        | {"event_id": [str(event.key)], "correlation_id": [str(event.correlation_id)]}
        | {
            "name": [counter.name],
            "slug": [one.slug for one in topics],
            "batch_id": [str(one.notification.batch_id) for one in sent],
        },
        "channel_ids": [str(inbox.id)],
    }


def test_schemathesis_finds_nothing(tmp_path: Path, web: Web) -> None:
    person = make_user()
    there = make_rows(person)
    # Without the scope with which it would revoke itself.
    token = tokens.create(person, "Test", [scope for scope in tokens.SCOPES if scope != "tokens"], None)[1]
    config, seed = tmp_path / "schemathesis.toml", os.environ.get("SCHEMATHESIS_SEED", "1")
    examples = os.environ.get("SCHEMATHESIS_EXAMPLES", "")
    config.write_text(CONFIG if examples else CONFIG + SHORT)
    run = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            f"--config-file={config}",
            "run",
            f"http://127.0.0.1:{web.port}/api/v1/openapi.json",
            f"--header=Authorization: Bearer {token}",
            "--checks=all",
            "--exclude-checks=use_after_free",  # the hooks have a better one
            "--phases=examples,coverage,fuzzing,stateful",
            f"--max-examples={examples or 3}",
            f"--seed={seed}",
            "--workers=1",
            "--continue-on-failure",
            "--suppress-health-check=all",
            "--generation-database=:memory:",
        ],
        capture_output=True,
        text=True,
        timeout=1800,
        cwd=tmp_path,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.process.api.schemathesis_hooks",
            "SCHEMATHESIS_ROWS": json.dumps(there),
            "SCHEMATHESIS_SEED": seed,
            "PYTHONPATH": str(Path(__file__).parents[3]),
        },
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr + "\n".join(web.lines[-200:])
