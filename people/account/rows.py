"""The rows that are a person's: in every table from which foreign keys lead to `User`. It names no other app."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pgtrigger
from django.db import models

from people.models import User

Key = models.ForeignKey[Any, Any]


@cache
def children(model: type[models.Model]) -> tuple[Key, ...]:
    """The foreign keys to `model` whose rows go with its rows."""
    return tuple(key for key in _keys_to(model) if key.remote_field.on_delete is models.CASCADE)


@cache
def references(model: type[models.Model]) -> tuple[Key, ...]:
    """The foreign keys to `model` that become null when its rows go."""
    return tuple(key for key in _keys_to(model) if key.remote_field.on_delete is models.SET_NULL)


@cache
def attached(model: type[models.Model]) -> tuple[Key, ...]:
    """The one-to-one keys of `model` to rows that are nobody else's, such as the mirror of a schedule in beat."""
    keys = (field for field in model._meta.concrete_fields if isinstance(field, models.OneToOneField))
    return tuple(key for key in keys if key.related_model not in tables())


@cache
def goes_with_parent(model: type[models.Model]) -> bool:
    """Whether a trigger wants its rows deleted in the transaction that deletes what they belong to."""
    triggers: list[pgtrigger.Trigger] = getattr(model._meta, "triggers", [])
    return any(trigger.timing is pgtrigger.Deferred for trigger in triggers)


@cache
def tables() -> dict[type[models.Model], tuple[Key, ...]]:
    """Each table of people's rows, with the shortest chain of keys from it to `User`; nearest first."""
    chains: dict[type[models.Model], tuple[Key, ...]] = {User: ()}
    queue: list[type[models.Model]] = [User]
    for model in queue:  # it grows
        for key in children(model):
            if key.model not in chains:
                chains[key.model] = (key, *chains[model])
                queue.append(key.model)
    return chains


def _keys_to(model: type[models.Model]) -> Iterator[Key]:
    for relation in model._meta.get_fields(include_hidden=True):
        key = getattr(relation, "field", None)
        if isinstance(relation, models.ForeignObjectRel) and isinstance(key, models.ForeignKey):
            yield key
