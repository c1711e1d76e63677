import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('schedules', '0008_channel_order'),
    ]

    operations = [
        migrations.AddField(
            model_name='schedule',
            name='excluded',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.DateField(), blank=True, db_default=[], default=list, size=None),
        ),
        migrations.AlterField(
            model_name='scheduleevent',
            name='what',
            field=models.CharField(choices=[('created', 'created'), ('edited', 'edited'), ('paused', 'paused'), ('resumed', 'resumed'), ('snoozed', 'snoozed'), ('skipped', 'next one skipped'), ('unskipped', 'skip undone'), ('run', 'run now'), ('deleted', 'deleted'), ('restored', 'restored'), ('reclocked', 'moved by a change of the zone database')], max_length=12),
        ),
    ]
