"""The outcome of a notification, written by the statement that ends one of its deliveries or sends it again.

The trigger locks the notification before it counts. Of two transactions that settle two deliveries of one notification
at once, the second waits, and then counts what the first has committed: each statement of a function has a snapshot of
its own. Old rows get `full` as a default, which rewrites nothing; only the others are updated.
"""

from django.db import migrations, models

_OUTCOME = """
CASE WHEN bool_or(d.state IN ('pending', 'sending')) THEN 'open'
     WHEN bool_or(d.state = 'delivered') THEN
          CASE WHEN {in_order} OR NOT bool_or(d.state IN ('dead', 'unknown', 'expired')) THEN 'full'
               ELSE 'partial' END
     WHEN bool_or(d.state IN ('dead', 'unknown')) THEN 'failed'
     ELSE 'dropped' END
"""

FORWARDS = f"""
UPDATE notifications_notification n SET outcome = told.outcome
  FROM (SELECT o.id, {_OUTCOME.format(in_order="o.channel_order <> '{}'")} AS outcome
          FROM notifications_notification o LEFT JOIN notifications_delivery d ON d.notification_id = o.id
         GROUP BY o.id) told
 WHERE n.id = told.id AND told.outcome <> 'full';

CREATE FUNCTION notifications_write_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    in_order boolean;
BEGIN
    SELECT channel_order <> '{{}}' INTO in_order
      FROM notifications_notification WHERE id = NEW.notification_id FOR NO KEY UPDATE;
    UPDATE notifications_notification n SET outcome = told.outcome
      FROM (SELECT {_OUTCOME.format(in_order="in_order")} AS outcome
              FROM notifications_delivery d WHERE d.notification_id = NEW.notification_id) told
     WHERE n.id = NEW.notification_id AND n.outcome <> told.outcome;
    RETURN NULL;
END $$;

CREATE TRIGGER delivery_writes_outcome AFTER UPDATE OF state ON notifications_delivery
   FOR EACH ROW WHEN (OLD.state <> NEW.state AND coalesce(OLD.settled_at, NEW.settled_at) IS NOT NULL)
   EXECUTE FUNCTION notifications_write_outcome();
"""

BACKWARDS = """
DROP TRIGGER delivery_writes_outcome ON notifications_delivery;
DROP FUNCTION notifications_write_outcome();
"""

_CHOICES = [
    ("open", "open"),
    ("full", "full"),
    ("partial", "partial"),
    ("failed", "failed"),
    ("dropped", "dropped"),
]


class Migration(migrations.Migration):
    dependencies = [("notifications", "0018_withdrawn")]
    operations = [
        migrations.AddField(
            model_name="notification",
            name="outcome",
            field=models.CharField(choices=_CHOICES, db_default="full", editable=False, max_length=7),
        ),
        migrations.RunSQL(FORWARDS, BACKWARDS),
        migrations.AlterField(
            model_name="notification",
            name="outcome",
            field=models.CharField(choices=_CHOICES, db_default="open", editable=False, max_length=7),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("outcome__in", ["partial", "failed"])),
                fields=["outcome", "-id"],
                name="notification_outcome",
            ),
        ),
    ]
