from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0016_inbox_by_arrival")]
    operations = [
        migrations.AddField(
            model_name="channel",
            name="link_id",
            field=models.UUIDField(editable=False, null=True, unique=True),
        ),
    ]
