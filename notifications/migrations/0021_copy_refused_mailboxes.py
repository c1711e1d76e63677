from django.db import migrations

from people.mailboxes import mailbox


def copy(apps, schema_editor):
    """Codes that a reader stopped were refused to one account; from now on they are to all."""
    stopped = apps.get_model("notifications", "Channel").objects.filter(
        provider="email", removed_at__isnull=False, unsubscribed_at__isnull=False, verified_at=None
    )
    refused = apps.get_model("people", "RefusedMailbox").objects
    for address in stopped.values_list("address", flat=True).iterator():
        if isinstance(address, dict) and isinstance(address.get("address"), str):
            refused.get_or_create(mailbox=mailbox(address["address"])[:320])


class Migration(migrations.Migration):
    dependencies = [("notifications", "0020_readable_channels"), ("people", "0005_refused_mailboxes")]
    operations = [migrations.RunPython(copy, migrations.RunPython.noop)]
