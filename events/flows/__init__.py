"""Flows: each module of these packages that defines one is found when they are first used.

To add a flow, add a file: see docs/adding-a-flow.md. One that cannot be imported is left out; see `BROKEN`.
"""

from django.conf import settings

from common.registry import Registry
from events.flows.base import Flow

PACKAGES = [__name__, *settings.FLOWS]
BROKEN: dict[str, str] = {}
"""The modules and packages that define no flow because they fail, with the type of their error."""

registry: Registry[Flow] = Registry(Flow, PACKAGES, "name", BROKEN)
all, find, label = registry.all, registry.find, registry.label


def of_type(type: str) -> list[Flow]:
    return [flow for flow in registry.by_name.values() if (type, "") in flow.handlers]
