from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("notifications", "0004_urgent")]
    operations = [
        migrations.CreateModel(
            name="DeadLetter",
            fields=[],
            options={"verbose_name": "dead letter", "proxy": True, "indexes": [], "constraints": []},
            bases=("notifications.delivery",),
        ),
    ]
