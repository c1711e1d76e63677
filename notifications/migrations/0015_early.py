from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0014_boards'),
    ]

    operations = [
        migrations.AddField(
            model_name='notification',
            name='early',
            field=models.IntegerField(editable=False, null=True),
        ),
    ]
