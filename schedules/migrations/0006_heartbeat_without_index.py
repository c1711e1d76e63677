from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('schedules', '0005_manual_runs'),
    ]

    operations = [
        RemoveIndexConcurrently(
            model_name='heartbeat',
            name='heartbeat_last_seen',
        ),
    ]
