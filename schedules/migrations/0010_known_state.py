from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('schedules', '0009_after_done'),
    ]

    operations = [
        ValidateConstraint(model_name='schedule', name='schedule_known_state'),
    ]
