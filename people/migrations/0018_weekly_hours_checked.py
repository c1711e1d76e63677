from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0017_weekly_hours'),
    ]

    operations = [
        ValidateConstraint(model_name='user', name='people_user_weekly_hours'),
    ]
