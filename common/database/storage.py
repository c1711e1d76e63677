"""Storage parameters of tables: a model declares them as `storage`, because Django's Meta has none."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.apps import AppConfig

from common.database.postgres import change, query

# For a table that is written all the time: autovacuum comes after so many rows. By default it comes after a fifth of
# the table, which takes months in a table of a hundred million rows.
BUSY = {
    "autovacuum_vacuum_scale_factor": 0,
    "autovacuum_vacuum_threshold": 20_000,
    "autovacuum_vacuum_insert_scale_factor": 0,
    "autovacuum_vacuum_insert_threshold": 100_000,
    "autovacuum_analyze_scale_factor": 0,
    "autovacuum_analyze_threshold": 20_000,
}


def set_parameters(sender: AppConfig, plan: Sequence[Any] | None = None, **_: Any) -> None:
    """Set those of an app's tables that differ; a receiver of `post_migrate`, which `flush` sends, too."""
    if plan is None:
        return
    for model in sender.get_models():
        declared: Mapping[str, int] = getattr(model, "storage", {})
        if declared and parameters(model._meta.db_table) != declared:
            values = ", ".join(f"{name} = {value}" for name, value in declared.items())
            change(f"ALTER TABLE {model._meta.db_table} SET ({values})", None)


def parameters(table: str) -> dict[str, int]:
    rows = query("SELECT unnest(reloptions) AS option FROM pg_class WHERE oid = to_regclass(%s)", [table])
    return {name: int(value) for name, _, value in (row.option.partition("=") for row in rows)}
