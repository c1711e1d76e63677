from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('people', '0012_teams'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='apitoken',
            index=models.Index(condition=models.Q(('member', None), _negated=True), fields=['member'], name='apitoken_of_member'),
        ),
        ValidateConstraint(model_name='user', name='people_user_team'),
    ]
