from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('schedules', '0008_nag'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='schedule',
            name='schedule_known_state',
        ),
        migrations.AddField(
            model_name='schedule',
            name='after_done',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='state',
            field=models.CharField(choices=[('active', 'Active'), ('paused', 'Paused'), ('finished', 'Finished'), ('broken', 'Broken'), ('archived', 'Archived'), ('awaiting', 'Awaiting Done')], default='active', max_length=8, verbose_name='state'),
        ),
        migrations.AlterField(
            model_name='scheduleevent',
            name='what',
            field=models.CharField(choices=[('created', 'Created'), ('edited', 'Edited'), ('paused', 'Paused'), ('resumed', 'Resumed'), ('snoozed', 'Snoozed'), ('skipped', 'Skipped'), ('unskipped', 'Unskipped'), ('run', 'Run'), ('deleted', 'Deleted'), ('restored', 'Restored'), ('reclocked', 'Reclocked'), ('archived', 'Archived'), ('unarchived', 'Unarchived'), ('done', 'Done'), ('undone', 'Undone')], max_length=12),
        ),
        AddConstraintNotValid(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['active', 'paused', 'finished', 'broken', 'archived', 'awaiting'])), name='schedule_known_state'),
        ),
    ]
