from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0014_on_call'),
    ]

    operations = [
        ValidateConstraint(model_name='membership', name='membership_call_from'),
        ValidateConstraint(model_name='membership', name='membership_call_until'),
    ]
