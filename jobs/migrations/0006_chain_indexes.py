from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('jobs', '0005_correlation'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='batch',
            index=models.Index(condition=models.Q(('correlation_id__isnull', False)), fields=['correlation_id'], name='batch_of_chain'),
        ),
        AddIndexConcurrently(
            model_name='job',
            index=models.Index(condition=models.Q(('correlation_id__isnull', False)), fields=['correlation_id'], name='job_of_chain'),
        ),
    ]
