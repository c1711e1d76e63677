"""Values that Python cannot read, because SQL wrote them: one must not hide all other rows."""

import json
import logging
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from common.database.postgres import blames_no_row

Row = TypeVar("Row", bound=Model)

log = logging.getLogger(__name__)


def readable(rows: QuerySet[Row]) -> tuple[list[Row], list[Any]]:
    """The rows, and the keys of those that cannot be read; one statement where all can."""
    try:
        return list(rows), []
    except Exception as error:
        if blames_no_row(error):
            raise
    whole = rows.all()
    whole.query.clear_limits()
    result, damaged = [], []
    for key in rows.values_list("pk", flat=True):
        try:
            result.append(whole.get(pk=key))
        except Exception as error:
            if blames_no_row(error):
                raise
            log.error("%s %s cannot be read: %s", rows.model._meta.label, key, type(error).__name__)
            damaged.append(key)
    return result, damaged


def object_of(text: str) -> dict[str, Any]:
    """The object of a jsonb; an empty one if that is none, is too deep, or has a number that is too long."""
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return result if isinstance(result, dict) else {}
