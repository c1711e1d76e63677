from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0008_interventions")]
    operations = [
        migrations.AddField(
            model_name="channel",
            name="failing_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="channel",
            index=models.Index(
                condition=models.Q(("disabled_at__isnull", False)),
                fields=["disabled_at"],
                name="channel_disabled",
            ),
        ),
    ]
