"""Every URL that the project has, the admin's and allauth's among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from allauth.account.models import EmailAddress
from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern
from django.utils import timezone

from api.protocol.fields import written
from api.v1 import api
from common.database import encryption
from counters.models import Shard
from events.models import InboundAddress, InboundRequest, RegisteredType, Rule, Run, Step, Subscription, Topic
from jobs.models import Batch, Job
from notifications.deliveries import boards
from people import teams, tokens
from people.models import CallOverride, Invitation, Membership, User
from schedules.models import Holiday, Schedule
from tests.make import (
    NOON,
    happen,
    make_channel,
    make_connection,
    make_delivery,
    make_rule,
    make_schedule,
    make_user,
    make_watch,
)
from watches.models import Badge, Ping, StatusPage, Watch

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Url:
    """`name` with its namespaces; `template` is its path, with its parameters as `<converter:name>`."""

    name: str
    template: str

    @property
    def takes(self) -> list[str]:
        return _PARAMETER.findall(self.template)

    def path(self, values: Mapping[str, object]) -> str:
        """Raises KeyError for a parameter that `values` lacks."""
        return _PARAMETER.sub(lambda found: str(values[found[1]]), self.template)


def every_url() -> list[Url]:
    return list(_walk(get_resolver().url_patterns, "", "/"))


def _walk(patterns: list[Any], names: str, prefix: str) -> Iterator[Url]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{names}{pattern.namespace}:" if pattern.namespace else names
            yield from _walk(pattern.url_patterns, inner, prefix + _template(pattern))
        else:
            yield Url(f"{names}{pattern.name or pattern.lookup_str}", prefix + _template(pattern))


def _template(pattern: URLPattern | URLResolver) -> str:
    """A regular expression is written like a route: its groups become parameters."""
    if isinstance(pattern.pattern, RoutePattern):
        return str(pattern.pattern)
    return re.sub(r"\(\?P(<\w+>)(?:\[[^]]*\]|\.)[+*]\)", r"\1", str(pattern.pattern)).strip("^$")


def values_of(owner: User) -> dict[str, object]:
    """For each parameter that a URL may take, what names something of the owner's."""
    inbox = make_channel(owner)
    message = make_delivery(inbox, state="delivered", settled_at="2026-06-01T12:00Z")
    schedule = make_schedule(owner, [inbox])
    topic = Topic.objects.create(user=owner, slug="own", name="Own")
    own = Subscription.objects.create(topic=topic, user=owner, address=owner.email)
    followed = {"url": "https://example.org", "types": ["delivery.*"]}
    secrets = {"secret": "whsec_" + "c2VjcmV0" * 4, "path": "/hook"}
    webhook = make_channel(owner, "status", secrets, address=followed)
    event = happen(owner)
    address = InboundAddress(user=owner, hashed=uuid4().hex * 2, label="Shop")
    address.sealed_secrets = encryption.seal_secrets({"token": "1" * 48, "secret": ""}, address.id)
    address.save()
    kept = InboundRequest.objects.create(address=address, status=202, body="{}")
    announced = make_delivery(inbox, origin="announcement", origin_id=schedule.id, state="delivered", settled_at=NOON)
    Batch.objects.create(
        id=message.notification.batch_id, user=owner, audience="topic", audience_key=topic.id, message={"title": "News"}
    )
    run = Run.objects.create(user=owner, flow="incident", key="disk", correlation_id=uuid4())
    step = Step.objects.create(user=owner, run=run, handler="incident.none", key="1", correlation_id=uuid4())
    registered = RegisteredType.objects.create(user=owner, name="order.shipped", data_schema="{}")
    watch = make_watch(owner, [inbox])
    page = StatusPage.objects.create(user=owner, title="Ours", slug=f"page-{owner.pk}")
    boards.post((board := make_channel(owner, "board")).id, "Milk is out", "Ada")
    team = teams.create(owner, "Family")
    EmailAddress.objects.get_or_create(user=owner, email=owner.email, verified=True)
    invitation = Invitation(team=team, made_by=owner, address=owner.email, role="member", hashed=uuid4().hex * 2)
    invitation.expires_at = timezone.now() + Invitation.LIFE
    invitation.save()
    return {
        "team_id": team.pk,
        "member_id": Membership.objects.create(team=team, person=make_user(), role="owner").id,
        "invitation_id": invitation.id,
        "type_id": registered.id,
        "event_type_id": registered.id,
        "watch_id": watch.id,
        "code": watch.token,  # of /api/v3
        "number": 1,
        "badge_id": Badge.objects.create(user=owner, watch=watch).id,
        "ending": "svg",
        "page_id": page.id,
        "address": page.slug,
        "incident_id": page.incidents.create(title="Slow").id,
        "ping_id": Ping.objects.create(watch=watch, number=1, kind="success", at=NOON).id,
        "run_id": run.id,
        "step_id": step.id,
        "announcement_id": announced.notification_id,
        "event_id": event.key,
        "address_id": address.id,
        "request_id": kept.id,
        "secret": "0" * 48,
        "inbound_request_id": kept.id,
        "correlation_id": event.correlation_id,
        "webhook_id": webhook.id,
        "schedule_id": schedule.id,
        "check_id": Job.objects.create(user=owner, kind="sample", slot=NOON, preview={}).id,
        "holiday_id": Holiday.objects.create(user=owner, first="2999-08-03", last="2999-08-17").id,
        "rule_id": make_rule(owner, channels=[inbox]).id,
        "queue_id": make_channel(owner, "queue").id,
        "board_id": board.id,
        "override_id": CallOverride.objects.create(
            member=Membership.objects.filter(team=team).earliest("id"),
            begins_at=timezone.now(),
            ends_at=timezone.now() + timedelta(days=1),
        ).id,
        "channel_id": inbox.id,
        "connection_id": make_connection(owner).id,
        "source": "github",
        "topic_id": topic.id,
        "slug": topic.slug,
        "name": Shard.objects.create(user=owner, name="builds", number=0, value=1).name,
        "subscription_id": own.id,
        "delivery_id": message.id,
        "notification_id": message.notification_id,
        "batch_id": message.notification.batch_id,
        "token_id": tokens.create(owner, "Old", ["read"], None)[0].id,
        "kind": "email",
        # the admin's, allauth's, and what a signature must hold for
        "object_id": owner.pk,
        "id": owner.pk,
        "content_type_id": ContentType.objects.get_for_model(User).id,
        "app_label": "people",
        "cause": "0",
        "at": 0,
        "url": "nowhere/",
        "key": "x",
        "uidb36": "1",
        "pk": owner.pk,
        "token": f"{message.notification_id.hex}{uuid4().hex * 2}",
    }


@dataclass(frozen=True)
class Operation:
    """One method of one path of the API; `body` says whether it takes one."""

    name: str
    method: str
    template: str
    body: bool

    @property
    def takes(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.template)

    def path(self, values: Mapping[str, object]) -> str:
        """Without the prefix. Raises KeyError for a parameter that `values` lacks."""
        return self.template.format(**values).removeprefix("/api/v1")


def every_operation() -> list[Operation]:
    paths = api.get_openapi_schema()["paths"]
    return [
        Operation(details["operationId"], method.upper(), template, "requestBody" in details)
        for template, methods in paths.items()
        for method, details in methods.items()
    ]


def bodies_of(values: Mapping[str, object]) -> dict[str, Any]:
    """For each operation that takes a body, a valid one of the owner's."""
    schedule = Schedule.objects.get(id=values["schedule_id"])
    timing = {"dailyTime": {"hour": 9, "minute": 0}}
    whole = {"title": "Rent", "timing": timing, "time_zone": "UTC", "channel_ids": [str(values["channel_id"])]}
    rule = {"name": "Orders", "type_pattern": "order.*", "title": "Order", "channel_ids": whole["channel_ids"]}
    watch = {"name": "Backup", "period": 3600, "channel_ids": whole["channel_ids"]}
    slot = {"slot_at": written(schedule.next_fire_at)}
    return {
        "create_schedule": whole,
        "preview_schedule": whole,
        "replace_schedule": whole,
        "change_schedule": {"channel_ids": whole["channel_ids"]},
        "check_job": {"job": {"kind": "sample"}},
        "change_schedules": {"ids": [str(schedule.id)], "action": "pause"},
        "end_run": {},
        "discard_event": {},
        "skip_step": {},
        "create_holiday": {"first": "2999-08-03", "last": "2999-08-17"},
        "replace_holiday": {"first": "2999-08-03", "last": "2999-08-17"},
        "snooze_notification": {"snooze_ends_at": written(timezone.now() + timedelta(hours=1))},
        "create_token": {"label": "Backup", "scopes": ["read"]},
        "change_settings": {"name": "Ada"},
        "snooze_schedule": {"snooze_ends_at": written(timezone.now() + timedelta(hours=1))},
        "skip_slot": slot,
        "unskip_slot": slot,
        "publish": {"type": "order.paid"},
        "create_rule": rule,
        "replace_rule": rule,
        "change_rule": {"channel_ids": rule["channel_ids"]},
        "create_watch": watch,
        "replace_watch": watch,
        "change_watch": {"channel_ids": watch["channel_ids"]},
        "pause_watch": {},
        "create_status_page": {"title": "Shop"},
        "change_status_page": {"intro": "All of it."},
        "create_public_incident": {"title": "Slow"},
        "change_public_incident": {"is_over": True},
        "create_badge": {"tag": "db"},
        "preview_rule": {"rule": rule, "event": {"type": "order.paid"}},
        "create_inbound": {"label": "Shop"},
        "replace_inbound": {"label": "Shop"},
        "add_channel": {"kind": "email", "fields": {"address": "new@example.org"}},
        "change_channel": {"label": "Phone"},
        "add_connection": {"kind": "github", "fields": {"token": "ghp_" + "x" * 36}},
        "change_connection": {"label": "Work"},
        "verify_channel": {"code": "1234-5678"},
        "add_to_counter": {"name": "builds"},
        "write_on_board": {"text": "Milk is out"},
        "create_override": {
            "member_id": str(values["member_id"]),
            "begins_at": f"{timezone.now():%FT%TZ}",
            "ends_at": f"{timezone.now() + timedelta(days=2):%FT%TZ}",
        },
        "create_topic": {"name": "News", "slug": "news"},
        "change_topic": {"name": "Club"},
        "create_event_type": {"name": "order.returned", "data_schema": {}},
        "change_event_type": {"summary": "A parcel came back."},
        "add_person": {"address": "ada@example.net"},
        "subscribe": {"channel_ids": [str(values["channel_id"])]},
        "pull_messages": {},
        "settle_messages": {},
        "publish_messages": {"type": "build.finished"},
        "send_message": {"title": "Rent", "channel_ids": whole["channel_ids"]},
        "replay_dead_letters": {"channel_id": str(values["channel_id"])},
        "discard_dead_letter": {},
        "mark_fixed": {"note": "By phone."},
        "change_status_webhook": {"types": ["schedule.*"]},
        "verify_status_webhook": {"code": "1234-5678"},
    }


def delete_all() -> None:
    """Schedules, rules and watches, so that they can be restored."""
    Schedule.objects.update(deleted_at="2026-06-01T12:00Z", next_fire_at=None)
    Rule.objects.update(deleted_at="2026-06-01T12:00Z")
    Watch.objects.update(deleted_at="2026-06-01T12:00Z", deadline=None)
