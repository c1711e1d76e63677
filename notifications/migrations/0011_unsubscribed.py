from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0010_fallback")]
    operations = [
        migrations.AddField(
            model_name="channel",
            name="unsubscribed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
