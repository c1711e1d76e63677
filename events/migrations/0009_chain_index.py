from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('events', '0008_correlation'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='step',
            index=models.Index(fields=['correlation_id'], name='step_of_chain'),
        ),
    ]
