import datetime

import django.contrib.postgres.fields
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('schedules', '0010_known_state'),
    ]

    operations = [
        migrations.AddField(
            model_name='schedule',
            name='early',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), blank=True, db_default=[], default=list, size=None),
        ),
        migrations.AddField(
            model_name='schedule',
            name='next_early_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        AddConstraintNotValid(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(models.Func(models.F('early'), output_field=models.BooleanField(), template='cardinality(%(expressions)s) <= 5'), models.Func(models.F('early'), output_field=models.BooleanField(), template='coalesce(1 <= ALL(%(expressions)s), false)'), models.Func(models.F('early'), output_field=models.BooleanField(), template='coalesce(40320 >= ALL(%(expressions)s), false)'), models.Func(models.F('early'), output_field=models.BooleanField(), template='coalesce(array_ndims(%(expressions)s), 1) = 1'), models.Q(('next_early_at', None), ('next_early_at__range', (datetime.datetime(2, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))), _connector='OR')), name='schedule_readable_early'),
        ),
    ]
