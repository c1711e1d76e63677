from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('notifications', '0016_held_after'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='channel',
            index=models.Index(condition=models.Q(('held_after__isnull', False)), fields=['held_after'], name='channel_held'),
        ),
    ]
