from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0010_fallback'),
        ('schedules', '0009_excluded_dates'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='schedule',
            name='schedule_of_person',
        ),
        migrations.AddIndex(
            model_name='schedule',
            index=models.Index(condition=models.Q(('deleted_at', None)), fields=['user', 'next_fire_at', '-id'], name='schedule_of_person_next'),
        ),
    ]
