"""The feed of changes: one row for each change of a state, written by triggers in the transaction of the change."""

import pgtrigger
from django.conf import settings
from django.db import models

from common.database import correlation
from common.database.triggers import update_of
from common.uuid7 import SQL as UUID7, uuid7
from notifications.messages.change_types import STATUS

KEPT_DAYS: int = settings.CHANGES_KEPT_DAYS


class Change(models.Model):
    """One change of a state, for its person's programs; kept for `KEPT_DAYS`.

    `xact` is the id of the transaction that made it: the order of ids is not the order of commits, so a reader stops
    before the oldest transaction that is still running. `data` holds ids and codes only. See `change_feed`.
    """

    pk = models.CompositePrimaryKey("xact", "id")
    xact = models.BigIntegerField()
    id = models.UUIDField(default=uuid7)
    # Each insert would pay for a constraint.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    type = models.CharField(max_length=32)
    at = models.DateTimeField()
    data = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["user", "xact", "id"], name="change_of_person")]


class FeedPosition(models.Model):
    """The position of a task, named by `reader`, in the feed. See `notifications.changes.feed`."""

    reader = models.CharField(max_length=16, primary_key=True)
    xact = models.BigIntegerField()
    change_id = models.UUIDField()


class Follower(models.Model):
    """Something of another app, by its id, for which a person's changes are recorded. That app writes these rows."""

    id = models.UUIDField(primary_key=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")


_XACT = "pg_current_xact_id()::text::bigint"


def followed(user: str) -> str:
    """The SQL of whether a program may read the person's changes, or a rule of theirs may: others pay for no row.

    A token counts until `KEPT_DAYS` after its end, so that its successor misses nothing.
    """
    return f"""(
        EXISTS (SELECT FROM people_apitoken t WHERE t.user_id = {user}
                   AND coalesce(least(t.revoked_at, t.expires_at), 'infinity') > now() - interval '{KEPT_DAYS} days')
     OR EXISTS (SELECT FROM notifications_follower f WHERE f.user_id = {user})
     OR EXISTS (SELECT FROM notifications_channel w
                 WHERE w.user_id = {user} AND w.provider = '{STATUS}' AND w.removed_at IS NULL)
     OR EXISTS (SELECT FROM notifications_channel w
                 WHERE w.address @> '{{"everybody": true}}' AND w.provider = '{STATUS}' AND w.removed_at IS NULL)
    )"""  # noqa: S608 - constants only


def recorder(
    name: str,
    operation: pgtrigger.Operation,
    *,
    user: str,
    type: str,
    data: str,
    source: str = "(SELECT) one",
    where: str = "true",
    condition: str | None = None,
    new_rows: bool = False,
) -> pgtrigger.Trigger:
    """The trigger that records a change, for `Meta.triggers`; all arguments are SQL.

    `new_rows`: once for a whole INSERT, with its rows as the table `new_rows`.
    """
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.After,
        operation=operation,
        condition=None if condition is None else pgtrigger.Condition(condition),
        level=pgtrigger.Statement if new_rows else pgtrigger.Row,
        referencing=pgtrigger.Referencing(new="new_rows") if new_rows else None,  # type: ignore[no-untyped-call]
        func=f"""
        INSERT INTO notifications_change (xact, id, user_id, type, at, data)
        SELECT {_XACT}, {UUID7}, {user}, {type}, now(), {data}
          FROM {source}
         WHERE {where} AND {followed(user)};
        RETURN NULL;
        """,  # noqa: S608 - constants only
    )


_CHAIN = correlation.sql("n", "n.batch_id")
OF_DELIVERY = f"""
INSERT INTO notifications_change (xact, id, user_id, type, at, data)
SELECT {_XACT}, {UUID7}, n.user_id, change.type, now(), change.data
  FROM notifications_notification n, LATERAL (
    SELECT 'delivery.' || NEW.state AS type, jsonb_build_object(
               'delivery_id', NEW.id, 'notification_id', n.id, 'channel_id', NEW.channel_id, 'provider', NEW.provider,
               'schedule_id', CASE WHEN n.origin = 'schedule' THEN n.origin_id END,
               'correlation_id', {_CHAIN}, 'reason', NEW.reason_code) AS data
     WHERE OLD.state <> NEW.state AND NEW.settled_at IS NOT NULL
     UNION ALL
    SELECT 'notification.' || n.outcome, jsonb_build_object(
               'notification_id', n.id, 'correlation_id', {_CHAIN},
               'schedule_id', CASE WHEN n.origin = 'schedule' THEN n.origin_id END)
     WHERE ended AND n.origin NOT IN ('test', 'code')
  ) change
 WHERE n.id = NEW.notification_id;
"""  # noqa: S608 - constants only
"""Records the end of a delivery, and the new outcome of its notification if `ended`, in the trigger of both.

It is not a trigger by itself, which each delivery would pay for. A test or a code has one delivery, which says
it all.
"""


_CHANNEL = "jsonb_build_object('channel_id', NEW.id, 'provider', NEW.provider, 'reason', NEW.disabled_code)"


def of_channels() -> list[pgtrigger.Trigger]:
    """The row of a former address, which is removed from the start, is not a new channel."""
    marks = ("removed_at", "disabled_at", "verified_at")
    return [
        recorder(
            "channel_records_addition",
            pgtrigger.Insert,
            condition="NEW.removed_at IS NULL",
            user="NEW.user_id",
            type="'channel.added'",
            data=_CHANNEL,
        ),
        recorder(
            "channel_records_change",
            update_of(*marks),
            condition="((OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL)"
            " OR (OLD.disabled_at IS NULL) <> (NEW.disabled_at IS NULL)"
            " OR (OLD.verified_at IS NULL AND NEW.verified_at IS NOT NULL))",
            user="NEW.user_id",
            type="""'channel.' || CASE WHEN OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL THEN 'removed'
                                       WHEN OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL THEN 'disabled'
                                       WHEN OLD.disabled_at IS NOT NULL AND NEW.disabled_at IS NULL THEN 'enabled'
                                       ELSE 'verified' END""",
            data=_CHANNEL,
        ),
    ]
