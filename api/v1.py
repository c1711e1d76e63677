"""`/api/v1`: the same operations and the same validation as the pages."""

from functools import partial

from django.conf import settings

from api.protocol import calls, paging
from api.protocol.openapi import Api
from api.protocol.parser import LARGEST, StrictParser

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
for prefix, router in (
    ("/me", "me.router"),
    ("/me/tokens", "me.tokens_router"),
    ("/teams", "teams.router"),
    ("/changes", "changes.router"),
    ("/status-webhooks", "status_webhooks.router"),
    ("/schedules", "schedules.history.router"),
    ("/schedules", "schedules.checks.router"),
    ("/schedules", "schedules.operations.router"),
    ("/holidays", "schedules.holidays.router"),
    ("/job-kinds", "schedules.checks.kinds_router"),
    ("/checks", "schedules.checks.checks_router"),
    ("/channels", "channels.operations.router"),
    ("/connections", "connections.router"),
    ("/notifications", "messages.router"),
    ("/inbox", "inbox.router"),
    ("/events", "events.router"),
    ("/event-types", "event_types.router"),
    ("/rules", "rules.router"),
    ("/runs", "runs.router"),
    ("/topics", "topics.router"),
    ("/subscriptions", "topics.subscriptions_router"),
    ("/trace", "traces.router"),
    ("/inbound", "inbound.router"),
    ("/dead-letters", "dead_letters.router"),
    ("/batches", "batches.router"),
    ("/audiences", "batches.audiences_router"),
    ("/queues", "queues.router"),
    ("/boards", "boards.router"),
    ("/locks", "locks.router"),
    ("/counters", "counters.router"),
    ("/watches", "watches.router"),
    ("/status-pages", "status_pages.router"),
    ("/badges", "status_pages.badges_router"),
):
    api.add_router(prefix, f"api.resources.{router}")
