from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('events', '0013_operators_index'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='event',
            index=models.Index(condition=models.Q(('state__in', ('dead', 'unknown'))), fields=['user', 'type'], name='event_dead_of_person'),
        ),
    ]
