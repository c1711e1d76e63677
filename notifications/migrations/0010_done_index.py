from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('notifications', '0009_answered_from'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='notification',
            index=models.Index(condition=models.Q(('acknowledged_at__isnull', False), ('snoozed_until', None)), fields=['user', '-acknowledged_at', '-id'], name='notification_done'),
        ),
    ]
