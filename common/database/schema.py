"""The schema of the database against the models: one that another version has made is refused at the start."""

from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from common.database.postgres import query

_DIFFERENT = """
SELECT needed.table || '.' || needed.column AS name
FROM unnest(%s::text[], %s::text[], %s::text[]) AS needed ("table", "column", type)
LEFT JOIN pg_attribute AS existing
    ON existing.attrelid = to_regclass(quote_ident(needed.table)) AND existing.attname = needed.column
    AND NOT existing.attisdropped
WHERE existing.atttypid IS DISTINCT FROM to_regtype(needed.type)
ORDER BY 1
"""


def different_columns() -> list[str]:
    """Each "table.column" of the models that the database lacks, or has with another type."""
    needed = [
        (model._meta.db_table, field.column, kind)
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy
        for field in model._meta.local_concrete_fields
        if (kind := field.db_type(connection))
    ]
    return [row.name for row in query(_DIFFERENT, [list(values) for values in zip(*needed, strict=True)])]


def difference() -> str:
    """A sentence that names what the database lacks; empty if nothing, and before the first migration."""
    (row,) = query("SELECT to_regclass('django_migrations') IS NULL AS is_empty", [])
    if row.is_empty or not (columns := different_columns()):
        return ""
    more = f" and {len(columns) - 3} more" if len(columns) > 3 else ""
    return f"the database lacks {', '.join(columns[:3])}{more}, or has another type there"


def refuse_foreign(**_: Any) -> None:
    """Fail if all migrations are applied and the schema is not theirs; a receiver of `post_migrate`."""
    if not (problem := difference()):
        return
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError(
            f"All migrations are applied, but {problem}. Another version made it: use that one, or a new database."
        )
