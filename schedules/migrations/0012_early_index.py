from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('schedules', '0011_early'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='schedule',
            index=models.Index(condition=models.Q(('next_early_at__isnull', False)), fields=['next_early_at'], name='schedule_early'),
        ),
        ValidateConstraint(model_name='schedule', name='schedule_readable_early'),
    ]
