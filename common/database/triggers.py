"""Triggers that refuse a change, for `Meta.triggers`."""

import pgtrigger


def refuse(
    name: str, operation: pgtrigger.Operation, message: str, *values: str, condition: str | None = None, hint: str = ""
) -> pgtrigger.Trigger:
    """Raise IntegrityError where `condition` holds; `message` has a % for each of the SQL `values`.

    The executor evaluates the condition itself and calls no function for a permitted change.
    """
    arguments = "".join(f", {value}" for value in values)
    hint = f", HINT = '{hint}'" if hint else ""
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.Before,
        operation=operation,
        condition=pgtrigger.Condition(condition) if condition else None,
        func=f"RAISE EXCEPTION '{message}'{arguments} USING ERRCODE = 'check_violation'{hint};",
    )


def update_of(*columns: str) -> pgtrigger.Operation:
    return pgtrigger.UpdateOf(*columns)  # type: ignore[no-untyped-call]


def changed(*columns: str) -> str:
    """The SQL that holds where an update changes one of these columns."""
    new, old = (", ".join(f"{row}.{column}" for column in columns) for row in ("NEW", "OLD"))
    return f"({new}) IS DISTINCT FROM ({old})"
