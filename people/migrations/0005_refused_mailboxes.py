import django.db.models.functions.datetime
from django.db import migrations, models

import people.models


class Migration(migrations.Migration):
    dependencies = [("people", "0004_readable_people")]
    operations = [
        migrations.CreateModel(
            name="RefusedMailbox",
            fields=[
                ("mailbox", models.CharField(max_length=320, primary_key=True, serialize=False)),
                ("refused_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"verbose_name_plural": "refused mailboxes"},
        ),
        migrations.AlterField(
            model_name="user",
            name="email",
            field=models.EmailField(
                max_length=254,
                unique=True,
                validators=[people.models.validate_printable],
                verbose_name="email address",
            ),
        ),
        # Sign-in looks addresses up in lower case; nobody found one that was stored otherwise.
        migrations.RunSQL("UPDATE people_user SET email = lower(email) WHERE email <> lower(email)", ""),
    ]
