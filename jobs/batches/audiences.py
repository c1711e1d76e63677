"""The audience of a batch, as SQL; other apps add their own kinds of audience."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _, gettext_lazy

from common.database.postgres import query
from common.texts.types import StrOrPromise
from jobs import connections

if TYPE_CHECKING:
    from people.models import User


@dataclass(frozen=True)
class Chosen:
    """One audience of a kind of audience."""

    kind: str
    key: str

    def __str__(self) -> str:
        """In a form."""
        return f"{self.kind}:{self.key}"


Keys = Sequence[tuple[str, str]]
"""The keys of the audiences of one kind, with their names."""


class Audience(NamedTuple):
    """A kind of audience.

    `people` is a SELECT of `user_id`, `channel_ids` (empty: all that the person can use) and `own_id` (what the
    notification's origin is for this person; NULL: the batch's). It may use `held`, the batch's row; see `batch_kind`.
    `nobody` counts those who belong to it and have no account. `keys` are those that somebody may choose from.
    """

    name: str
    label: StrOrPromise
    people: str
    keys: Callable[[User], Keys]
    nobody: str = "SELECT 0"


# ruff: noqa: S608 - constants only

NOT_LEFT = "NOT EXISTS (SELECT FROM jobs_leaver l WHERE l.origin_id = (SELECT origin_id FROM held) AND l.user_id = {})"
_ACTIVE = f"""
SELECT u.id AS user_id, '{{}}'::uuid[] AS channel_ids, NULL::uuid AS own_id
  FROM people_user u
 WHERE u.is_active AND NOT u.is_team AND u.date_joined <= (SELECT as_of FROM held) AND {NOT_LEFT.format("u.id")}"""


AUDIENCES = {
    one.name: one
    for one in (
        Audience("everybody", gettext_lazy("Everybody"), _ACTIVE, lambda user: [("", _("Everybody"))]),
        Audience(
            "group",
            gettext_lazy("A group"),
            _ACTIVE
            + """
   AND EXISTS (SELECT FROM people_user_groups g
                WHERE g.user_id = u.id AND g.group_id::text = (SELECT audience_key FROM held))""",
            lambda user: [(str(key), name) for key, name in Group.objects.order_by("name").values_list("pk", "name")],
        ),
        Audience(
            "connected",
            gettext_lazy("Who has connected"),
            _ACTIVE
            + """
   AND EXISTS (SELECT FROM jobs_connection c
                WHERE c.user_id = u.id AND c.kind = (SELECT audience_key FROM held) AND c.removed_at IS NULL
                  AND c.disabled_at IS NULL AND c.created_at <= (SELECT as_of FROM held))""",
            lambda user: [(kind.name, str(kind.label)) for kind in connections.all()],
        ),
    )
}
"""By name."""


def may_announce(user: User) -> bool:
    """Whether this person may tell others what they have not asked for: staff with the permission to add batches."""
    return user.is_staff and user.has_perm("jobs.add_batch")


def choices(user: User) -> list[tuple[str, list[tuple[Chosen, str]]]]:
    """All audiences from which `user` may choose, with their names, by kind."""
    return [
        (str(one.label), [(Chosen(one.name, key), str(name)) for key, name in one.keys(user)])
        for one in AUDIENCES.values()
    ]


def named(user: User) -> dict[Chosen, str]:
    """The names of the audiences of `choices`, for lists."""
    names: dict[Chosen, str] = {}
    for label, options in choices(user):
        names |= {value: name if label == name else f"{label}: {name}" for value, name in options}
    return names


def name_of(names: Mapping[Chosen, str], name: str, key: str) -> str:
    """The name of an audience among those of its owner (`named`); that of its kind where the group or topic is gone."""
    return names.get(Chosen(name, key)) or (str(AUDIENCES[name].label) if name in AUDIENCES else name)


def count(name: str, key: str, origin_id: UUID | None = None) -> int:
    """Count the people with an account who belong to it now, without those who have left what `origin_id` says."""
    statement = f"""
WITH held AS MATERIALIZED (
    SELECT clock_timestamp() AS as_of, %(key)s::text AS audience_key, %(origin)s::uuid AS origin_id
)
SELECT count(*) AS people FROM ({AUDIENCES[name].people}) a"""
    [row] = query(statement, {"key": key, "origin": origin_id})
    return int(row.people)
