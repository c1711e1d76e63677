"""An index fewer to write at each claim: the constraint's on the attempt's number begins with the same column."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0014_fewer_indexes")]
    # Not by Django's own statements, which would check every foreign key anew under an exclusive lock.
    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    "DROP INDEX IF EXISTS notifications_attempt_delivery_id_18dba30b",
                    "CREATE INDEX notifications_attempt_delivery_id_18dba30b ON notifications_attempt (delivery_id)",
                )
            ],
            [
                migrations.AlterField(
                    model_name="attempt",
                    name="delivery",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="history",
                        to="notifications.delivery",
                    ),
                ),
            ],
        )
    ]
