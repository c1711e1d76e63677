from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('schedules', '0006_heartbeat_without_index'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='schedule',
            index=models.Index(condition=models.Q(('deleted_at', None), ('state', 'broken')), fields=['-id'], name='schedule_broken'),
        ),
    ]
