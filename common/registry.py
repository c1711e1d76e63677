"""Registries: of each class that a package defines, one to a file, one object, found when it is first asked for."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from inspect import isabstract, isclass
from pkgutil import iter_modules
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from common.texts.types import StrOrPromise

log = logging.getLogger(__name__)


class Registered(Protocol):
    """`position`: its place in lists, lowest first; `label`: its name for people."""

    position: ClassVar[int]
    label: ClassVar[StrOrPromise]


T = TypeVar("T", bound=Registered)


class Registry(Generic[T]):
    """The subclasses of `base` in the modules of `packages`; their attribute `key` is the name of the module.

    `broken`: where it is given, a module or package that fails is left out and noted there, with its error's type.
    """

    def __init__(
        self, base: type[Any], packages: Sequence[str], key: str, broken: dict[str, str] | None = None
    ) -> None:
        self._base, self._packages, self._key, self._broken = base, packages, key, broken

    @cached_property
    def by_name(self) -> dict[str, T]:
        """In the order in which pages list them."""
        objects: list[T] = []
        for package in self._packages:
            with self._left_out(package):
                for _, name, _ in iter_modules(import_module(package).__path__):
                    with self._left_out(f"{package}.{name}"):
                        objects += self._objects_of(f"{package}.{name}", name)
        return {getattr(one, self._key): one for one in sorted(objects, key=lambda one: (one.position, one.label))}

    @contextmanager
    def _left_out(self, path: str) -> Iterator[None]:
        """Note what fails. Raises the error where nothing may fail."""
        try:
            yield
        except (Exception, SystemExit) as error:
            if self._broken is None:
                raise
            log.error("%s is left out: %s", path, type(error).__name__)
            self._broken[path] = type(error).__name__

    def _objects_of(self, path: str, module_name: str) -> list[T]:
        objects: list[T] = []
        module = import_module(path)
        for value in vars(module).values():
            ours = isclass(value) and issubclass(value, self._base) and value.__module__ == module.__name__
            if not ours or isabstract(value):
                continue
            if (name := getattr(value, self._key)) != module_name:
                raise TypeError(f"{module.__name__} defines “{name}”: use the same name.")
            objects.append(value())
        return objects

    def all(self) -> list[T]:
        return list(self.by_name.values())

    def find(self, name: str) -> T | None:
        """None where a stored row names one that is not installed."""
        return self.by_name.get(name)

    def label(self, name: str) -> str:
        """The name for people; the name itself where there is none."""
        one = self.find(name)
        return name if one is None else str(one.label)
