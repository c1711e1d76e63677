"""The admin costs the same with 2,000 rows behind each list as with a few."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.template import Template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from common.admin import base, filters
from common.uuid7 import uuid7
from tests.db.conftest import Story
from tests.db.test_admin_pages import ROWS
from tests.make import NOON, make_channel, make_delivery

_DEAD = "/admin/notifications/deadletter/"
LISTS = [*ROWS, "django_celery_beat.periodictask", "account.emailaddress", "events.event", "events.inboundrequest"]

# 2,000 of each kind of row, every one with a person, a schedule and a channel of its own; without triggers and checks
# of foreign keys, which take most of the time.
_MANY = """
SET LOCAL session_replication_role = replica;
INSERT INTO people_user (password, is_superuser, is_staff, is_active, date_joined, email, name, time_zone)
SELECT '', false, false, true, now(), 'many' || n || '@example.org', '', '' FROM generate_series(1, 2000) n;
INSERT INTO account_emailaddress (email, verified, "primary", user_id) SELECT email, true, true, id FROM people_user;
INSERT INTO django_celery_beat_periodictask
       (name, task, args, kwargs, headers, enabled, one_off, total_run_count, date_changed, description, crontab_id)
SELECT 'many ' || n, 'schedules.fire', '[]', '{}', '{}', true, false, 0, now(), '', (SELECT min(id) FROM
       django_celery_beat_crontabschedule) FROM generate_series(1, 2000) n;
ANALYZE people_user, django_celery_beat_periodictask;
CREATE TEMPORARY TABLE many ON COMMIT DROP AS
SELECT u.id AS person, t.id AS task, uuidv7() AS schedule, uuidv7() AS channel, uuidv7() AS occurrence,
       uuidv7() AS notification, uuidv7() AS delivery
  FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM people_user WHERE email LIKE 'many%') u
  JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM django_celery_beat_periodictask WHERE name LIKE 'many%') t
    ON t.n = u.n;
INSERT INTO notifications_channel (id, user_id, provider, label, address, sealed_secrets, on_unknown)
SELECT channel, person, 'email', 'Mail', '{"address": "a@example.org"}', '', '' FROM many;
INSERT INTO schedules_schedule (id, user_id, title, body, kind, rule, time_zone, spread, misfire, grace, state, error,
       version, fired_count, next_fire_at, periodic_task_id)
SELECT schedule, person, 'Many', '', 'daily', '{"time": "09:00"}', 'UTC', 0, 'latest', 60, 'active', '', 1, 0,
       now() + interval '1 day', task FROM many;
INSERT INTO schedules_occurrence (id, schedule_id, scheduled_for, outcome, reason, version)
SELECT occurrence, schedule, now(), 'fired', '', 1 FROM many;
INSERT INTO events_rule (id, user_id, name, type_pattern, source, conditions, title, body, urgent, digest_key, enabled,
       version)
SELECT uuidv7(), person, 'Many', '*', '', '[]', 'Many', '', false, '', true, 1 FROM many;
INSERT INTO notifications_notification (id, batch_id, user_id, origin, origin_id, slot, subject, body, outcome)
SELECT notification, occurrence, person, 'schedule', schedule, now(), 'Many', '', 'failed' FROM many;
INSERT INTO notifications_delivery
       (id, notification_id, channel_id, provider, state, cause, wakes, tries, replays, settled_at)
SELECT delivery, notification, channel, 'email', 'dead', 'email-refused', 0, 1, 0, now() FROM many;
INSERT INTO django_celery_results_taskresult
       (task_id, task_name, status, content_type, content_encoding, date_created, date_done)
SELECT 'many' || n, 'notifications.deliveries.rescue', 'SUCCESS', '', '', now(), now() FROM generate_series(1, 2000) n;
INSERT INTO events_event (id, user_id, key, type, source, occurred_at, correlation_id, hops, data, state, wakes, tries,
       replays, settled_at)
SELECT uuidv7(), person, schedule, 'many.came', '', now(), schedule, 0, '{}', 'handled', 0, 1, 0, now() FROM many;
INSERT INTO events_inboundaddress (id, user_id, label, hashed, sealed_secrets, scheme, options, fields, enabled)
SELECT channel, person, 'Many', channel::text, '', 'none', '{}', '{}', true FROM many;
INSERT INTO events_inboundrequest (id, address_id, status, headers, body, event_keys)
SELECT uuidv7(), channel, 202, '{}', '{}', '[]' FROM many;
ANALYZE events_event, events_inboundaddress, events_inboundrequest;
ANALYZE people_user, events_rule, schedules_schedule, schedules_occurrence, notifications_channel,
        notifications_notification,
        notifications_delivery, django_celery_results_taskresult, account_emailaddress;
"""


def queries(client: Client, model: str, **asked: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(reverse(f"admin:{model.replace('.', '_')}_changelist"), asked)
    assert answer.status_code == 200
    return len(captured)


def test_every_list_takes_as_many_statements_with_2000_rows_as_with_a_few(
    operator: Client, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MOST", 1_000)
    for model in LISTS:
        queries(operator, model)  # content types and the like are read once
    few = {model: queries(operator, model) for model in LISTS}
    with connection.cursor() as cursor:
        cursor.execute(_MANY)
    assert {model: queries(operator, model) for model in LISTS} == few
    assert max(few.values()) <= 6
    shown = operator.get("/admin/schedules/schedule/").context["cl"]
    assert len(shown.result_list) == 25
    assert "more than 1,000" in operator.get("/admin/notifications/delivery/").content.decode()


def test_a_row_renders_no_template_whose_result_is_the_same_for_all(
    operator: Client, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, render = list[str | None](), Template._render

    def note(self: Template, context: Any) -> str:
        names.append(self.name)
        return render(self, context)

    def rendered() -> Counter[str | None]:
        names.clear()
        operator.get(_DEAD)
        return Counter(names)

    monkeypatch.setattr(Template, "_render", note)

    rendered()  # what is rendered once
    few = rendered()
    made = {str(make_delivery(story.inbox, state="dead").id) for _ in range(9)}
    assert set(rendered() - few) <= {"unfold/helpers/actions_row.html"}
    boxes = re.findall(r'name="_selected_action" value="([^"]*)"', operator.get(_DEAD).content.decode())
    assert set(boxes) == {*made, str(story.dead.id)}


def test_counting_stops_at_the_limit(operator: Client, story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST", 1)
    with CaptureQueriesContext(connection) as captured:
        page = operator.get("/admin/notifications/delivery/").content.decode()
    assert "more than 1 deliveries" in " ".join(page.split())
    counts = [query["sql"] for query in captured if "COUNT(*)" in query["sql"]]
    assert counts
    assert all("LIMIT 2" in sql for sql in counts)


def test_a_filter_without_an_index_looks_at_the_newest_rows_only(
    operator: Client, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "NEWEST", 1)
    newest, oldest = sorted((story.delivered, story.dead), key=lambda row: row.pk, reverse=True)
    for row, found in ((newest, 1), (oldest, 0)):
        asked = {"provider": row.provider}
        answer = operator.get("/admin/notifications/delivery/", asked)
        assert len(answer.context["cl"].result_list) == found
        assert "Webhook, of the newest 1" in answer.content.decode()


def test_the_filter_by_what_is_open_finds_also_what_a_program_pulls(operator: Client, story: Story) -> None:
    pulled = make_delivery(make_channel(story.person, "queue"), wake_at=None)
    sending = make_delivery(story.inbox, state="sending", lease_token=uuid7(), lease_until=NOON)
    for state, row in (("pending", pulled), ("sending", sending)):
        found = operator.get("/admin/notifications/delivery/", {"state": state}).context["cl"].result_list
        assert [one.pk for one in found] == [row.pk]
