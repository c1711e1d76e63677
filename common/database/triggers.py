"""Triggers that refuse a change, for `Meta.triggers`."""

from collections.abc import Sequence

import pgtrigger

from common.database.checks import READABLE, TOO_DEEP, TOO_LONG


def refuse(
    name: str,
    operation: pgtrigger.Operation,
    message: str,
    *values: str,
    condition: str | None = None,
    hint: str = "",
    when: pgtrigger.When = pgtrigger.Before,
) -> pgtrigger.Trigger:
    """Raise IntegrityError where `condition` holds; `message` has a % for each of the SQL `values`.

    The executor evaluates the condition itself and calls no function for a permitted change.
    """
    arguments = "".join(f", {value}" for value in values)
    hint = f", HINT = '{hint}'" if hint else ""
    return pgtrigger.Trigger(
        name=name,
        when=when,
        operation=operation,
        condition=pgtrigger.Condition(condition) if condition else None,
        func=f"RAISE EXCEPTION '{message}'{arguments} USING ERRCODE = 'check_violation'{hint};",
    )


def refuse_unreadable(
    *instants: str,
    objects: Sequence[str] = (),
    arrays: Sequence[str] = (),
    json: Sequence[str] = (),
    lists: Sequence[str] = (),
) -> pgtrigger.Trigger:
    """Refuse what SQL would write and Python cannot read, which would break whole pages. NULL is permitted.

    Instants before the year 2 and after 9998; JSON of 40 levels or with numbers of hundreds of digits, and in `objects`
    and `arrays` other JSON than these; NULL within `lists`, which are arrays of PostgreSQL. Unlike a CHECK, it costs
    only the statements that write these columns. It comes after the change: one before it would lock each row as if its
    keys changed, and messages to a channel would wait.
    """
    first, last = (f"{limit:%Y-%m-%d}Z".rjust(11, "0") for limit in READABLE)
    types = [*((name, "object") for name in objects), *((name, "array") for name in arrays)]
    result = [f"NEW.{name} NOT BETWEEN '{first}' AND '{last}'" for name in instants]
    result += [f"jsonb_typeof(NEW.{name}) <> '{kind}'" for name, kind in types]
    columns = [*objects, *arrays, *json]
    result += [f"NEW.{name} @? '{path}'" for name in columns for path in (TOO_DEEP, TOO_LONG)]
    result += [f"array_position(NEW.{name}, NULL) IS NOT NULL" for name in lists]
    return refuse(
        "readable",
        pgtrigger.Insert | update_of(*instants, *columns, *lists),
        "Carillon could not read this row.",
        condition=" OR ".join(result),
        hint="See Damaged rows in docs/reliability.md.",
        when=pgtrigger.After,
    )


def update_of(*columns: str) -> pgtrigger.Operation:
    return pgtrigger.UpdateOf(*columns)  # type: ignore[no-untyped-call]


def changed(*columns: str) -> str:
    """The SQL that holds where an update changes one of these columns."""
    new, old = (", ".join(f"{row}.{column}" for column in columns) for row in ("NEW", "OLD"))
    return f"({new}) IS DISTINCT FROM ({old})"
