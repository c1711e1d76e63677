"""The inbox is read by when messages arrived, not by when they were recorded."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0015_attempts_index")]
    operations = [
        migrations.RemoveIndex(model_name="delivery", name="delivery_inbox"),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("provider", "inbox"), ("state", "delivered")),
                fields=["channel", "-settled_at", "-id"],
                name="delivery_inbox",
            ),
        ),
    ]
