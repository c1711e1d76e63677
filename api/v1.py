"""`/api/v1`: the same operations and the same validation as the pages."""

from functools import partial

from django.conf import settings

from api.protocol import calls, paging
from api.protocol.openapi import Api
from api.protocol.parser import LARGEST, StrictParser
from api.resources import (
    batches,
    boards,
    changes,
    connections,
    counters,
    dead_letters,
    event_types,
    events,
    inbound,
    inbox,
    locks,
    me,
    messages,
    queues,
    rules,
    runs,
    status_pages,
    status_webhooks,
    teams,
    tokens,
    topics,
    traces,
    watches,
)
from api.resources.channels import operations as channels
from api.resources.schedules import checks, history, holidays, operations as schedules

api = Api(
    title="Carillon",
    version="1",
    description=(
        "Reminders, watches, channels, messages, events and rules of one account. Send a token of the settings page as "
        f"“Authorization: Bearer …”. A token may make {settings.API_REQUESTS_PER_MINUTE or 'any number of'} requests a "
        f"minute; each answer says in RateLimit-* how many are left. Bodies are JSON of at most {LARGEST // 1024} KiB, "
        f"lists have pages of at most {paging.LARGEST} items. Instants are RFC 3339; answers have them in UTC. "
        f"docs/api.md of the source code shows each task with curl. This is Carillon {settings.VERSION}."
    ),
    urls_namespace="api",
    parser=StrictParser(),
    docs_url=None,
)
api.add_decorator(partial(calls.handle, parameters=api.parameters, deprecation=api.deprecation), mode="view")
calls.add_error_handlers(api)
api.add_router("/me", me.router)
api.add_router("/me/tokens", tokens.router)
api.add_router("/teams", teams.router)
api.add_router("/changes", changes.router)
api.add_router("/status-webhooks", status_webhooks.router)
for router in (history.router, checks.router, schedules.router):
    api.add_router("/schedules", router)
api.add_router("/holidays", holidays.router)
api.add_router("/job-kinds", checks.kinds_router)
api.add_router("/checks", checks.checks_router)
api.add_router("/channels", channels.router)
api.add_router("/connections", connections.router)
api.add_router("/notifications", messages.router)
api.add_router("/inbox", inbox.router)
api.add_router("/events", events.router)
api.add_router("/event-types", event_types.router)
api.add_router("/rules", rules.router)
api.add_router("/runs", runs.router)
api.add_router("/topics", topics.router)
api.add_router("/subscriptions", topics.subscriptions_router)
api.add_router("/trace", traces.router)
api.add_router("/inbound", inbound.router)
api.add_router("/dead-letters", dead_letters.router)
api.add_router("/batches", batches.router)
api.add_router("/audiences", batches.audiences_router)
api.add_router("/queues", queues.router)
api.add_router("/boards", boards.router)
api.add_router("/locks", locks.router)
api.add_router("/counters", counters.router)
api.add_router("/watches", watches.router)
api.add_router("/status-pages", status_pages.router)
api.add_router("/badges", status_pages.badges_router)
