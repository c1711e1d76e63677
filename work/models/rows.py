"""Abstract rows of work and of its attempts, with the constraints, triggers and indexes that every kind gets.

Every change of a state is a verb of this app; nothing else writes `state`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import checks, correlation
from common.database.storage import BUSY
from common.database.triggers import changed, refuse, refuse_unreadable, update_of
from common.texts.state_words import lazy_state_word
from common.uuid7 import uuid7
from work.reasons import sentence

EARTHLY = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))
DEAD_LETTERS = ("dead", "unknown")


def _index(name: str, condition: Q, *columns: str) -> models.Index:
    return models.Index(fields=columns, condition=condition, name=f"%(class)s_{name}")


def _check(name: str, condition: Q) -> models.CheckConstraint:
    return models.CheckConstraint(condition=condition, name=f"%(class)s_{name}")


_REFUSE_DELETION = """
IF EXISTS (SELECT FROM {fields.$key.related_model._meta.db_table} WHERE id = OLD.$key_id) THEN
    RAISE EXCEPTION 'An attempt is kept for as long as its work.' USING ERRCODE = 'check_violation';
END IF;
RETURN NULL;
"""


@dataclass(frozen=True, slots=True)
class Words:
    """The kind's names of two of its states, and of its attempts' foreign key to it."""

    working: str = "working"
    done: str = "done"
    key: str = "work"

    @property
    def edges(self) -> list[str]:
        """The life of a piece of work, as in docs/life-of-a-delivery.md."""
        working, done = self.working, self.done
        return [
            f"pending>{working}",
            *(f"{working}>{state}" for state in (done, "pending", *DEAD_LETTERS)),
            "pending>cancelled",
            "pending>expired",
            *(f"{dead}>{state}" for dead in DEAD_LETTERS for state in ("pending", "cancelled")),
        ]

    @property
    def states(self) -> list[str]:
        return ["pending", self.working, self.done, *DEAD_LETTERS, "cancelled", "expired"]

    @property
    def outcomes(self) -> list[tuple[str, Any]]:
        """Of an attempt."""
        return [
            ("", _("under way")),
            (self.done, lazy_state_word(self.done)),
            ("retryable", _("failed, to be tried again")),
            ("rejected", _("rejected")),
            ("ambiguous", _("outcome unknown")),
            ("lost", _("worker lost")),
            ("released", _("given back before it began")),
        ]

    def indexes(self) -> list[models.Index]:
        """Those of rescue hold `IS NOT NULL`, which a claim or a settlement by id does not imply: the planner must not
        take one of them for these, small as they may be when a plan is made."""
        dead = Q(state__in=DEAD_LETTERS)
        return [
            # rescue: what is due and has not been claimed
            _index("to_wake", Q(state="pending", wake_at__isnull=False), "is_bulk", "wake_at"),
            # rescue: what a dead worker left behind
            _index("leased", Q(state=self.working, lease_until__isnull=False), "lease_until"),
            # rescue: what has become stale
            _index("to_expire", Q(state="pending", expires_at__isnull=False), "expires_at"),
            # the dead letters' own list, newest first
            _index("dead_letters", dead, "-settled_at"),
            # the dead letters' causes: how many died of each, the first and the last
            _index("cause", dead, "cause", "settled_at"),
        ]

    def constraints(self) -> list[models.BaseConstraint]:
        working, is_open = Q(state=self.working), Q(state__in=["pending", self.working])
        leased = Q(lease_token__isnull=False, lease_until__isnull=False)
        return [
            _check("known_state", Q(state__in=self.states)),
            _check("lease_when_working", (working & leased) | (~working & Q(lease_token=None, lease_until=None))),
            _check("settled_at_the_end", (is_open & Q(settled_at=None)) | (~is_open & Q(settled_at__isnull=False))),
            # Python cannot read PostgreSQL's "infinity" or years past 9999: one such row would break whole pages, and
            # all figures of the dashboard.
            _check(
                "earthly_instants",
                Q(available_at__range=EARTHLY, wake_at__range=EARTHLY)
                & (Q(expires_at=None) | Q(expires_at__range=EARTHLY)),
            ),
            _check("readable_instants", checks.instants("created_at", nullable=("settled_at", "lease_until"))),
        ]

    def triggers(self, *instants: str, json: Sequence[str] = ()) -> list[pgtrigger.Trigger]:
        """`instants` and `json` are columns of the kind: see `refuse_unreadable`."""
        return [
            refuse_unreadable(*instants, json=["reason_params", *json]),
            refuse(
                "begins_pending",
                pgtrigger.Insert,
                "Work begins as pending, not as %.",
                "NEW.state",
                condition="NEW.state <> 'pending'",
            ),
            # One list of texts: PostgreSQL parses a condition for each statement, and eleven pairs of states would be a
            # tree of a hundred nodes for each claim and each settlement.
            refuse(
                "moves_along_edges",
                update_of("state"),
                "Work does not go from % to %.",
                "OLD.state",
                "NEW.state",
                condition="OLD.state <> NEW.state AND OLD.state || '>' || NEW.state NOT IN "
                f"({', '.join(map(repr, self.edges))})",
                hint="See docs/life-of-a-delivery.md.",
            ),
            # An attempt's number is tries + released: if it fell, the next claim would meet an attempt of that number.
            refuse(
                "counts_grow",
                update_of("tries", "released", "replays"),
                "The tries and replays only grow.",
                condition="NEW.replays < OLD.replays OR (NEW.replays = OLD.replays"
                " AND NEW.tries + NEW.released < OLD.tries + OLD.released)",
            ),
            # Not a CHECK, which each claim and each settlement would pay for.
            refuse(
                "dead_letter_has_cause",
                update_of("state"),
                "A dead letter has a cause.",
                condition=f"OLD.state = '{self.working}' AND NEW.state IN {DEAD_LETTERS} AND NEW.cause = ''",
            ),
        ]

    def attempt_constraints(self) -> list[models.BaseConstraint]:
        return [
            models.UniqueConstraint(fields=[self.key, "replay", "number"], name="%(class)s_number_once"),
            _check(
                "closed_with_outcome", Q(finished_at=None, outcome="") | (Q(finished_at__isnull=False) & ~Q(outcome=""))
            ),
            _check("ends_after_start", Q(finished_at=None) | Q(finished_at__gte=F("started_at"))),
        ]

    def attempt_triggers(self) -> list[pgtrigger.Trigger]:
        return [
            refuse_unreadable("started_at", "finished_at", json=["reason_params"]),
            refuse(
                "closed_once",
                pgtrigger.Update,
                "An attempt is closed once, and nothing else of it changes.",
                condition="OLD.finished_at IS NOT NULL OR NEW.finished_at IS NULL OR "
                + changed("id", f"{self.key}_id", "replay", "number", "token", "worker", "started_at"),
            ),
            # Deferred: an attempt is deleted before its work.
            pgtrigger.Trigger(
                name="kept",
                when=pgtrigger.After,
                operation=pgtrigger.Delete,
                timing=pgtrigger.Deferred,
                func=pgtrigger.Func(_REFUSE_DELETION.replace("$key", self.key)),  # type: ignore[no-untyped-call]
            ),
        ]


WORDS = Words()


class Reasoned(models.Model):
    """A row that has a reason, or none: see `work.reasons`."""

    reason_code = models.CharField(max_length=32, db_default="", blank=True)
    reason_params = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta:
        abstract = True

    @property
    def reason(self) -> str:
        return sentence(self.reason_code, self.reason_params)


class Chained(models.Model):
    """A row of a chain of causes, by its correlation id; see `common.database.correlation`."""

    correlation_id: Any
    # What is not a UUID.
    correlation = models.CharField(max_length=correlation.LONGEST, blank=True, db_default="", editable=False)

    class Meta:
        abstract = True

    @property
    def chain(self) -> str:
        """Empty for a row that has none."""
        return self.correlation or str(self.correlation_id or "")


class Work(Reasoned):
    """A piece of work. Its row is the queue, and its id the idempotency key.

    It is not claimed before `available_at`. If nobody has claimed it by `wake_at`, rescue publishes it again; `wakes`
    counts how often. Without a `wake_at` it is never published: programs pull it, and no worker claims it. `is_bulk`:
    it is one of very many, and others go first. `tries` counts since the last replay; `released` counts claims given
    back before anything was done. `cause` groups dead letters, see `reasons.cause_of`.
    """

    words = WORDS
    # The foreign keys to rows that the triggers of a change of state write to.
    locks: ClassVar[tuple[str, ...]] = ()
    storage: ClassVar[Mapping[str, int]] = BUSY

    id = models.UUIDField(_("idempotency key"), primary_key=True, default=uuid7, editable=False)
    state = models.CharField(
        _("state"), max_length=9, choices=[(state, state) for state in WORDS.states], default="pending"
    )
    available_at = models.DateTimeField(db_default=Now())
    wake_at = models.DateTimeField(db_default=Now(), null=True, blank=True)
    wakes = models.PositiveSmallIntegerField(_("wakes"), default=0)
    is_bulk = models.BooleanField(default=False, db_default=False, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(_("tries"), default=0)
    released = models.PositiveSmallIntegerField(_("released"), db_default=0, editable=False)
    replays = models.PositiveSmallIntegerField(_("replays"), default=0)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    cause = models.CharField(_("cause"), max_length=64, db_default="", blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ["-id"]
        indexes = WORDS.indexes()
        constraints = WORDS.constraints()
        triggers = WORDS.triggers()

    def __str__(self) -> str:
        return str(self.id)


class Attempt(Reasoned):
    """One try: opened when claimed, closed once, then immutable.

    A kind adds the foreign key to its work. `token` is the lease's; `worker` the process that claimed it (host and
    pid). The outcome of a success is the kind's own word.
    """

    # Closing an attempt touches no index, so its new version needs none where it finds room on its page (HOT).
    storage: ClassVar[Mapping[str, int]] = BUSY | {"fillfactor": 50}

    replay = models.PositiveSmallIntegerField(_("replay"))
    number = models.PositiveSmallIntegerField(_("number"))
    token = models.UUIDField(editable=False)
    worker = models.CharField(_("worker"), max_length=120, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(_("outcome"), max_length=10, choices=WORDS.outcomes, blank=True)

    class Meta:
        abstract = True
        ordering = ["id"]
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()

    def __str__(self) -> str:
        return f"try {self.number}"
