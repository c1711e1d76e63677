from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0017_former_addresses")]
    operations = [
        migrations.AddField(
            model_name="notification",
            name="withdrawn",
            field=models.CharField(db_default="", editable=False, max_length=100),
        ),
    ]
