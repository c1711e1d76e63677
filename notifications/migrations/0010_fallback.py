"""Channels in order. A trigger marks a notification whose newest delivery has failed, in the statement that ends it.

Only a notification that names an order is touched; for all others the trigger is one look at a primary key, and only
when a delivery ends as dead or unknown.
"""

import django.contrib.postgres.fields
from django.conf import settings
from django.db import migrations, models

FORWARDS = """
CREATE FUNCTION notifications_mark_fallback() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE notifications_notification n SET advance_at = now()
     WHERE n.id = NEW.notification_id AND n.channel_order <> '{}' AND n.acknowledged_at IS NULL
       AND NOT EXISTS (
           SELECT FROM notifications_delivery d
            WHERE d.notification_id = NEW.notification_id AND (d.created_at, d.id) > (NEW.created_at, NEW.id)
       );
    RETURN NULL;
END $$;

CREATE TRIGGER delivery_marks_fallback AFTER UPDATE OF state ON notifications_delivery
   FOR EACH ROW WHEN (OLD.state = 'sending' AND NEW.state IN ('dead', 'unknown'))
   EXECUTE FUNCTION notifications_mark_fallback();
"""

BACKWARDS = """
DROP TRIGGER delivery_marks_fallback ON notifications_delivery;
DROP FUNCTION notifications_mark_fallback();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0009_channel_health'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='delivery',
            name='because',
            field=models.CharField(blank=True, db_default='', editable=False, max_length=500),
        ),
        migrations.AddField(
            model_name='notification',
            name='acknowledged_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='notification',
            name='advance_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='notification',
            name='channel_order',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), db_default=[], default=list, editable=False, size=None),
        ),
        migrations.AddField(
            model_name='notification',
            name='escalate_after',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='notification',
            name='snoozed_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(condition=models.Q(('advance_at__isnull', False)), fields=['advance_at'], name='notification_to_advance'),
        ),
        migrations.RunSQL(FORWARDS, BACKWARDS),
    ]
