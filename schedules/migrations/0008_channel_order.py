import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('schedules', '0007_zone_digests'),
    ]

    operations = [
        migrations.AddField(
            model_name='schedule',
            name='channel_order',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, db_default=[], default=list, size=None),
        ),
        migrations.AddField(
            model_name='schedule',
            name='escalate_after',
            field=models.PositiveIntegerField(blank=True, help_text='Minutes without an acknowledgement after which the next channel is tried.', null=True),
        ),
    ]
