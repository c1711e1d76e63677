"""The providers: each module of this package that defines one is found when the package is first used.

To add a provider, add a file: see docs/adding-a-provider.md.
"""

from functools import cache

from common.registry import Registry
from notifications.providers.base import Provider


class UnknownProvider(LookupError):
    """No provider has this kind. The message lists the kinds that exist."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"There is no provider of the kind “{kind}”. There are: {', '.join(registry.by_name)}.")


registry: Registry[Provider] = Registry(Provider, [__name__], "kind")
all, find, label = registry.all, registry.find, registry.label


def disturbs(kind: str) -> bool:
    """Return whether deliveries of this kind wait for the end of quiet hours; False for an unknown kind."""
    return kind in registry.by_name and registry.by_name[kind].disturbs


@cache
def pulled() -> tuple[str, ...]:
    """Return the kinds whose deliveries programs pull, so that no worker sends them."""
    return tuple(kind for kind, provider in registry.by_name.items() if provider.is_pulled)


def unconfigured() -> list[str]:
    """Return the kinds that send nothing here until an operator configures them."""
    return [kind for kind, provider in registry.by_name.items() if provider.notice()]


def get(kind: str) -> Provider:
    try:
        return registry.by_name[kind]
    except KeyError:
        raise UnknownProvider(kind) from None
