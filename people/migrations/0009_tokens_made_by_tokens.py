from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0008_readable_factors'),
    ]

    operations = [
        migrations.AddField(
            model_name='apitoken',
            name='made_by_id',
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='securityevent',
            name='type',
            field=models.CharField(choices=[('signed-up', 'Account created'), ('signed-in', 'Signed in'), ('signed-out', 'Signed out'), ('sign-in-failed', 'Wrong password'), ('locked-out', 'Too many wrong passwords or codes'), ('reset-requested', 'New password requested'), ('password-reset', 'Password set by a link'), ('password-changed', 'Password changed'), ('factor-added', 'Second factor added'), ('factor-removed', 'Second factor removed'), ('factor-failed', 'Wrong code or security key'), ('codes-made', 'New recovery codes'), ('token-made', 'API token made'), ('token-rotated', 'Secret of an API token replaced'), ('token-revoked', 'API token revoked'), ('token-refused', 'API call without a valid token'), ('address-added', 'Email address added'), ('address-confirmed', 'Email address confirmed'), ('address-changed', 'Primary email address changed'), ('address-removed', 'Email address removed'), ('address-restored', 'Email address restored by its link'), ('rights-changed', 'Rights changed'), ('access-denied', 'Access denied'), ('exported', 'Data downloaded'), ('deletion-asked', 'Deletion of the account requested')], max_length=20, verbose_name='type'),
        ),
    ]
