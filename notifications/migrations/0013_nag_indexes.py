from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('notifications', '0012_nag'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='notification',
            index=models.Index(condition=models.Q(('nag_at__isnull', False)), fields=['nag_at'], name='notification_to_nag'),
        ),
        AddIndexConcurrently(
            model_name='notification',
            index=models.Index(condition=models.Q(('nag_of__isnull', False)), fields=['nag_of', 'nagged'], name='notification_repeats'),
        ),
    ]
