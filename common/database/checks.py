"""Conditions of CHECK constraints that refuse what Python cannot read: one such row would break whole pages."""

from datetime import UTC, datetime

from django.db.models import BaseConstraint, BooleanField, CheckConstraint, F, Func, Q

# Instants that Python can show in any zone; PostgreSQL also has years before 1, after 9999 and "infinity".
READABLE = (datetime(2, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))
# Paths in JSON at which Python's parser gives up.
TOO_DEEP, TOO_LONG = "$.**{40}", "$.** ? (@ > 1e300 || @ < -1e300)"


def sql(field: str, condition: str) -> Func:
    """`condition` with the column as `%(expressions)s`."""
    return Func(F(field), template=condition, output_field=BooleanField())


def instants(*always: str, nullable: tuple[str, ...] = ()) -> Q:
    condition = Q()
    for name in nullable:
        condition &= Q(**{name: None}) | Q(**{f"{name}__range": READABLE})
    return condition & Q(**{f"{name}__range": READABLE for name in always})


def readable(name: str, *always: str, nullable: tuple[str, ...] = ()) -> CheckConstraint:
    """A constraint of this name: Python can show these instants; see `instants`."""
    return CheckConstraint(condition=instants(*always, nullable=nullable), name=name)


def named(prefix: str, **conditions: Q) -> list[BaseConstraint]:
    """A constraint for each condition, named by the prefix and its keyword."""
    return [CheckConstraint(condition=one, name=f"{prefix}_{name}") for name, one in conditions.items()]


def days(field: str) -> Q:
    """An array of days that Python can show; see READABLE."""
    return _array(field, "'0002-01-01'", "'9999-01-01'")


def instants_of(field: str) -> Q:
    """An array of instants that Python can show; see READABLE."""
    return _array(field, "'0002-01-01Z'", "'9999-01-01Z'")


def _array(field: str, first: str, last: str) -> Q:
    return (
        Q(sql(field, f"coalesce({first} <= ALL(%(expressions)s), false)"))
        & Q(sql(field, f"coalesce({last} > ALL(%(expressions)s), false)"))
        & Q(sql(field, "coalesce(array_ndims(%(expressions)s), 1) = 1"))
    )


def texts(field: str) -> Q:
    """An array of at most ten texts."""
    return (
        Q(sql(field, "cardinality(%(expressions)s) <= 10"))
        & Q(sql(field, "coalesce(array_ndims(%(expressions)s), 1) = 1"))
        & Q(sql(field, "array_position(%(expressions)s, NULL) IS NULL"))
    )


def minutes(field: str, most: int, longest: int) -> Q:
    """An array of up to `most` numbers from 1 to `longest`."""
    return (
        Q(sql(field, f"cardinality(%(expressions)s) <= {most}"))
        & Q(sql(field, "coalesce(1 <= ALL(%(expressions)s), false)"))
        & Q(sql(field, f"coalesce({longest} >= ALL(%(expressions)s), false)"))
        & Q(sql(field, "coalesce(array_ndims(%(expressions)s), 1) = 1"))
    )


def json(field: str, depth: int) -> Q:
    """Less than `depth` levels, and no number of hundreds of digits: Python's parser gives up on these."""
    return Q(sql(field, f"NOT jsonb_path_exists(%(expressions)s, '$.**{{{depth}}}')")) & Q(
        sql(field, f"NOT jsonb_path_exists(%(expressions)s, '{TOO_LONG}')")
    )
