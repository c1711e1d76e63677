"""`/api/v1`: the same operations and the same validation as the pages."""

from __future__ import annotations

from django.conf import settings

from api import (
    batches,
    calls,
    changes,
    connections,
    dead_letters,
    me,
    paging,
    queues,
    status_webhooks,
    subscriptions,
    topics,
)
from api.bodies import LARGEST, StrictParser
from api.channels import actions as channel_actions
from api.channels import collection as channels
from api.events import collection as events
from api.events import inbound, trace
from api.notifications import send as notifications
from api.openapi import Api
from api.rules import collection as rules
from api.rules import preview as rule_preview
from api.schedules import actions, collection, history, holidays, looking, quick_add

api = Api(
    title="Carillon",
    version="1",
    description=(
        "Reminders, channels, messages, events and rules of one account. Send a token of the settings page as "
        f"“Authorization: Bearer …”. A token may make {settings.API_REQUESTS_PER_MINUTE or 'any number of'} requests a "
        f"minute; each answer says in RateLimit-* how many are left. Bodies are JSON of at most {LARGEST // 1024} KiB, "
        f"lists have pages of at most {paging.LARGEST} items. docs/api.md of the source code shows each task with curl."
    ),
    urls_namespace="api",
    parser=StrictParser(),
    docs_url=None,
)
api.add_decorator(calls.handle, mode="view")
calls.add_error_handlers(api)
api.add_router("/me", me.router)
api.add_router("/changes", changes.router)
api.add_router("/status-webhooks", status_webhooks.router)
for router in (history.router, looking.router, quick_add.router, collection.router, actions.router):
    api.add_router("/schedules", router)
api.add_router("/holidays", holidays.router)
api.add_router("/job-kinds", looking.kinds_router)
for router in (channels.router, channel_actions.router):
    api.add_router("/channels", router)
api.add_router("/connections", connections.router)
api.add_router("/notifications", notifications.router)
api.add_router("/events", events.router)
for router in (rule_preview.router, rules.router):
    api.add_router("/rules", router)
api.add_router("/topics", topics.router)
api.add_router("/subscriptions", subscriptions.router)
api.add_router("/trace", trace.router)
api.add_router("/inbound", inbound.router)
api.add_router("/dead-letters", dead_letters.router)
api.add_router("/batches", batches.router)
api.add_router("/queues", queues.router)
