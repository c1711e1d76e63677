"""The providers: each module of this package that defines one is found when the package is first used.

To add a provider, add a file: see docs/adding-a-provider.md.
"""

from functools import cache
from importlib import import_module
from inspect import isabstract, isclass
from pkgutil import iter_modules

from notifications.providers.base import Provider


class UnknownProvider(LookupError):
    """No provider has this kind. The message lists the kinds that exist."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"There is no provider of the kind “{kind}”. There are: {', '.join(_found())}.")


@cache
def _found() -> dict[str, Provider]:
    providers = []
    for module_info in iter_modules(__path__):
        module = import_module(f"{__name__}.{module_info.name}")
        for value in vars(module).values():
            ours = isclass(value) and issubclass(value, Provider) and value.__module__ == module.__name__
            if not ours or isabstract(value):
                continue
            if value.kind != module_info.name:
                raise TypeError(f"{module.__name__} defines a provider of the kind “{value.kind}”: use the same name.")
            providers.append(value())
    return {provider.kind: provider for provider in sorted(providers, key=lambda p: (p.position, p.label))}


def all() -> list[Provider]:
    """Return every provider, in the order in which pages list them."""
    return list(_found().values())


def disturbs(kind: str) -> bool:
    """Return whether deliveries of this kind wait for the end of quiet hours; False for an unknown kind."""
    return kind in _found() and _found()[kind].disturbs


@cache
def pulled() -> tuple[str, ...]:
    """Return the kinds whose deliveries programs pull, so that no worker sends them."""
    return tuple(kind for kind, provider in _found().items() if provider.is_pulled)


def unconfigured() -> list[str]:
    """Return the kinds that send nothing here until an operator configures them."""
    return [kind for kind, provider in _found().items() if provider.notice()]


def unsubscribes(kind: str) -> bool:
    """Return whether messages of this kind carry an unsubscribe link."""
    return kind in _found() and _found()[kind].unsubscribes


def find(kind: str) -> Provider | None:
    """Return the provider of this kind; None where a stored row names one that is not installed."""
    return _found().get(kind)


def label(kind: str) -> str:
    """Return what people call this kind; the kind itself where no provider is of it."""
    provider = find(kind)
    return kind if provider is None else str(provider.label)


def get(kind: str) -> Provider:
    """Return the provider of this kind. Raises UnknownProvider."""
    try:
        return _found()[kind]
    except KeyError:
        raise UnknownProvider(kind) from None
