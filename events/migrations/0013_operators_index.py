from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('events', '0012_operator_alerts'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='flowsettings',
            index=models.Index(condition=models.Q(('settings__installation', True)), fields=['user'], name='flow_settings_of_operators'),
        ),
    ]
