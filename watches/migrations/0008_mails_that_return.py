from django.db import migrations


class Migration(migrations.Migration):
    """A mail that was being sent when another one of its incident was recorded has to become pending again."""

    dependencies = [
        ('watches', '0007_nag'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='statusmail',
            name='status_mail_one_pending',
        ),
    ]
