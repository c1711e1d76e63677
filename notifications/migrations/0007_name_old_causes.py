from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("notifications", "0006_causes")]
    operations = [
        migrations.RunSQL(
            "UPDATE notifications_delivery SET reason = reason WHERE state IN ('dead', 'unknown')",
            migrations.RunSQL.noop,
        )
    ]
