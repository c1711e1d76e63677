from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0005_readable_rows'),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='key',
            field=models.CharField(editable=False, max_length=456),
        ),
    ]
