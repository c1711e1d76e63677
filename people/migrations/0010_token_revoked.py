from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('people', '0009_tokens_made_by_tokens'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='apitoken',
            index=models.Index(condition=models.Q(('revoked_at', None), _negated=True), fields=['revoked_at'], name='apitoken_revoked'),
        ),
    ]
