"""Dead letters by cause: list them, replay them at a rate, discard them, and record who did it.

An action first locks what the triggers write to, then its letters, each in the order of their keys. So two people who
act at once change each letter once, and do not deadlock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from common.database.postgres import change, column, query
from common.texts.types import StrOrPromise
from people.models import User
from work.broker.wakes import Wake, publish_after_commit
from work.engine import manual
from work.kinds import KINDS, Kind, kind_of
from work.models import DEAD_LETTERS, Intervention, InterventionItem
from work.reasons import Reason, WorkCode
from work.retention import Retention

_ACTION = Intervention.Action

# Published at once; rescue publishes the others, and those due later, as fast as workers take them.
PUBLISHED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Which:
    """A selection of the dead letters of a kind: by handler, cause, the aware instant since which they ended, and keys.

    All given conditions hold at once; without any, it selects every dead letter.
    """

    kind: Kind[Any]
    handler: str = ""
    cause: str = ""
    since: datetime | None = None
    ids: Sequence[UUID] = ()

    def rows(self) -> QuerySet[Any]:
        given = {
            self.kind.handler: self.handler,
            "cause": self.cause,
            "settled_at__gte": self.since,
            "pk__in": self.ids,
        }
        chosen = {name: value for name, value in given.items() if value}
        return self.kind.model._default_manager.filter(state__in=DEAD_LETTERS, **chosen)

    def __str__(self) -> str:
        keys = ", ".join(str(key) for key in self.ids[:3]) + (" …" if len(self.ids) > 3 else "")
        words = [
            f"of the {self.kind.handler_name} {self.handler}" if self.handler else "",
            f"of the cause {self.cause}" if self.cause else "",
            "" if self.since is None else f"since {self.since:%Y-%m-%d %H:%M %Z}",
            f"with the keys {keys}" if keys else "",
        ]
        return ", ".join(filter(None, words)) or "every dead letter"


@dataclass(frozen=True, slots=True)
class Group:
    """The dead letters of one cause: how many, when the first and the last ended, and the newest as an example."""

    kind: Kind[Any]
    cause: str
    count: int
    first: datetime
    last: datetime
    example: Any

    @property
    def handler(self) -> str:
        return str(getattr(self.example, self.kind.handler))


@dataclass(frozen=True, slots=True)
class Who:
    """The actor: the id of their account, None at the command line, and their name."""

    user_id: int | None
    name: str

    @classmethod
    def of(cls, user: User) -> Self:
        """The person, or the member who acts for a team."""
        return cls(user.actor.pk, user.actor.email)


@dataclass(frozen=True, slots=True)
class Done:
    """The letters that were changed, how many were skipped because they are stale, and the work that replaces them."""

    changed: list[UUID]
    stale: int = 0
    intervention: Intervention | None = None
    new: Sequence[UUID] = ()


def groups(which: Which) -> list[Group]:
    """Every cause among the letters, newest letter first."""
    by_cause = which.rows().order_by().values_list("cause")
    counted = by_cause.annotate(letters=Count("*"), first=Min("settled_at"), last=Max("settled_at"))
    ends = {cause: (count, first, last) for cause, count, first, last in counted}
    newest = [row.id for row in query(which.kind.sql(_NEWEST), [column(ends)])]
    examples = Which(which.kind).rows().filter(pk__in=newest).order_by("-settled_at")
    return [Group(which.kind, example.cause, *ends[example.cause], example) for example in examples]


# Each is read from the end of its cause's part of the index.
_NEWEST = """
SELECT newest.id FROM unnest(%s::text[]) AS wanted(cause), LATERAL (
    SELECT id FROM $work d
     WHERE d.cause = wanted.cause AND d.state IN ('dead', 'unknown')
     ORDER BY settled_at DESC LIMIT 1
) newest
"""


def stale(max_age: timedelta | None = None) -> Q:
    """Past its `expires_at`, or recorded longer than `max_age` ago."""
    past = Q(expires_at__lte=Now())
    return past if max_age is None else past | Q(created_at__lt=Now() - max_age)


@transaction.atomic
def replay(
    rows: QuerySet[Any],
    which: str,
    who: Who,
    *,
    cause: str = "",
    per_minute: int | None = None,
    skip: Q | None = None,
    what: Intervention.Action = _ACTION.REPLAYED,
) -> Done:
    """Have them done again under the same keys, oldest first, `per_minute` at most; None: all are due at once.

    `skip` selects letters to leave alone (see `stale`); they stay dead letters.
    """
    kind = kind_of(rows.model)
    letters = locked(rows if skip is None else rows.exclude(skip))
    stale_ones = 0 if skip is None else rows.filter(skip).count()
    changed = set(manual.replay(kind.model, letters, 60 / per_minute if per_minute else 0.0))
    again = [key for key in letters if key in changed]
    pulled = set(kind.model._default_manager.filter(pk__in=again, wake_at=None).values_list("pk", flat=True))
    kind.pulled_again(pulled)
    sent = again[: 1 if per_minute else PUBLISHED_AT_ONCE]
    publish_after_commit(Wake(kind.task, key) for key in sent if key not in pulled)
    made = Intervention(what=what, which=which, cause=cause, per_minute=per_minute)
    return Done(again, stale_ones, record(made, who, kind, again))


def try_one(rows: QuerySet[Any], which: str, who: Who, *, cause: str = "") -> Done:
    """Replay the newest of them, alone, to see whether its cause is fixed."""
    return replay(rows.order_by("-settled_at")[:1], f"the newest {which}", who, cause=cause, what=_ACTION.TESTED)


_REASONS = {_ACTION.DISCARDED: WorkCode.DISCARDED, _ACTION.FIXED: WorkCode.FIXED}


@transaction.atomic
def discard(
    rows: QuerySet[Any],
    which: str,
    who: Who,
    reason: str,
    *,
    cause: str = "",
    what: Intervention.Action = _ACTION.DISCARDED,
) -> Done:
    """Nothing is done, and each keeps the reason: not needed (DISCARDED), or dealt with otherwise (FIXED)."""
    kind, letters = kind_of(rows.model), locked(rows)
    manual.discard(kind.model, letters, Reason(_REASONS[what], said=reason))
    kind.discarded(letters)
    made = Intervention(what=what, which=which, cause=cause, reason=reason)
    return Done(letters, 0, record(made, who, kind, letters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An action on dead letters. `do` takes rows, a description of them, who acts, and their `cause`.

    It takes a `reason` too where the act `ends` them: nothing more is done. The others send them again. The admin
    confirms with `title`, `text` and `button`, and then shows the `result`; `letters` are how many, with a verb.
    """

    name: str
    what: Intervention.Action
    do: Callable[..., Done]
    ends: bool = False
    label: StrOrPromise = ""
    title: StrOrPromise = ""
    text: StrOrPromise = ""
    button: StrOrPromise = ""
    result: StrOrPromise = ""

    def log(self, detail: str) -> str:
        return f"{str(self.what.label).capitalize()}{detail}"


REPLAY = Act(
    name="replay",
    what=_ACTION.REPLAYED,
    do=replay,
    label=gettext_lazy("Replay…"),
    title=gettext_lazy("Replay dead letters"),
    text=gettext_lazy(
        "%(letters)s replayed under the same idempotency key. Effects that already happened may happen twice. "
        "This cannot be undone."
    ),
    button=gettext_lazy("Replay %(count)s"),
    result=gettext_lazy("%(count)s will be replayed."),
)
TRY_ONE = Act(name="try", what=_ACTION.TESTED, do=try_one)
DISCARD = Act(
    name="discard",
    what=_ACTION.DISCARDED,
    do=discard,
    ends=True,
    label=gettext_lazy("Discard…"),
    title=gettext_lazy("Discard dead letters"),
    text=gettext_lazy("%(letters)s cancelled with this reason. Nothing more is done."),
    button=gettext_lazy("Discard %(count)s"),
    result=gettext_lazy("%(count)s discarded."),
)
MARK_FIXED = Act(
    name="mark_fixed",
    what=_ACTION.FIXED,
    do=partial(discard, what=_ACTION.FIXED),
    ends=True,
    label=gettext_lazy("Mark as fixed…"),
    title=gettext_lazy("Mark dead letters as fixed"),
    text=gettext_lazy("%(letters)s cancelled, with a note of how it was dealt with. Nothing more is done."),
    button=gettext_lazy("Mark %(count)s as fixed"),
    result=gettext_lazy("%(count)s marked as fixed."),
)


# Why an owner ends one, if they do not say.
NOT_NEEDED = "its owner does not need it any more."
_OWN_NOTES = {_ACTION.DISCARDED: NOT_NEEDED, _ACTION.FIXED: "its owner says so."}


def act_on_own(letter: Any, act: Act, owner: User, note: str = "") -> Done:
    """Do it to one letter of the owner; `note` is why they end it."""
    which, rows = f"own dead {kind_of(type(letter)).name}", type(letter)._default_manager.filter(pk=letter.pk)
    how = {"reason": note or _OWN_NOTES[act.what]} if act.ends else {}
    return act.do(rows, which, Who.of(owner), cause=letter.cause, **how)


def locked(rows: QuerySet[Any]) -> list[UUID]:
    """Lock those of `rows` that are still dead letters, and return their keys, oldest first.

    PostgreSQL checks a row again once it has its lock, so a letter that was changed meanwhile is left out.
    """
    kind = kind_of(rows.model)
    wanted = Which(kind).rows().filter(pk__in=rows.values("pk"))
    manual.lock_parents(kind.model, wanted)
    rows_locked = wanted.order_by("pk").select_for_update(no_key=True).values_list("settled_at", "pk")
    return [key for _, key in sorted(rows_locked)]


def record(
    made: Intervention, who: Who, kind: Kind[Any], letters: Sequence[UUID], new: Sequence[UUID] = ()
) -> Intervention | None:
    """Save what was done to the letters, and the `new` work that replaces them; None where there were no letters."""
    if not letters:
        return None
    made.by_id, made.who, made.kind, made.count = who.user_id, who.name, kind.name, len(letters)
    made.which, made.reason = made.which[:500], made.reason[:300]
    made.save(force_insert=True)
    change(_ITEMS, [made.pk, column([*letters, *new])])
    return made


_ITEMS = """
INSERT INTO work_interventionitem (intervention_id, work_id) SELECT %s, unnest(%s::uuid[])
"""

# Of work `d` all of whose interventions are old; the last piece takes its intervention with it.
_OLD = """
NOT EXISTS (SELECT FROM work_interventionitem i JOIN work_intervention v ON v.id = i.intervention_id
             WHERE i.work_id = d.work_id AND v.at >= %(since)s)
"""
_EMPTIED = """
, emptied AS (
    DELETE FROM work_intervention v
     WHERE v.id IN (SELECT i.intervention_id FROM work_interventionitem i JOIN old ON old.id = i.work_id)
       AND NOT EXISTS (SELECT FROM work_interventionitem i
                        WHERE i.intervention_id = v.id AND i.work_id NOT IN (SELECT id FROM old))
)
"""
INTERVENTIONS = Retention(
    "work of interventions", "INTERVENTIONS_KEPT_DAYS", "work_interventionitem", _OLD, _EMPTIED, "work_id"
)


def touched_by(intervention: Intervention) -> QuerySet[Any]:
    """Its work that still exists. Raises KeyError where the code no longer has its kind."""
    items = InterventionItem.objects.filter(intervention=intervention)
    return KINDS[intervention.kind].model._default_manager.filter(pk__in=items.values("work_id"))


def progress(intervention: Intervention) -> dict[str, int]:
    return dict(touched_by(intervention).order_by().values_list("state").annotate(Count("pk")))
