from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0015_early'),
    ]

    operations = [
        migrations.AddField(
            model_name='channel',
            name='held_after',
            field=models.UUIDField(editable=False, null=True),
        ),
    ]
