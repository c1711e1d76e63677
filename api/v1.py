"""`/api/v1`: the same operations and the same validation as the pages."""

from __future__ import annotations

from api import calls, changes, me, status_webhooks
from api.bodies import StrictParser
from api.openapi import Api
from api.schedules import actions, collection, history

api = Api(
    title="Carillon",
    version="1",
    description="Reminders, channels and messages of one account. `docs/api.md` shows each task with curl.",
    urls_namespace="api",
    parser=StrictParser(),
    docs_url=None,
)
api.add_decorator(calls.handle, mode="view")
calls.add_error_handlers(api)
api.add_router("/me", me.router)
api.add_router("/changes", changes.router)
api.add_router("/status-webhooks", status_webhooks.router)
for router in (history.router, collection.router, actions.router):
    api.add_router("/schedules", router)
