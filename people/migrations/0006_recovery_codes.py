"""Recovery codes were made from a seed that the rows kept. Nobody can hash codes of 8 digits safely, so they end."""

from typing import Any

from django.db import migrations


def end_codes(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("mfa", "Authenticator").objects.filter(type="recovery_codes")
    rows.exclude(data__has_key="migrated_codes").update(data={"migrated_codes": []})


class Migration(migrations.Migration):

    dependencies = [
        ("people", "0005_quota"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [migrations.RunPython(end_codes, migrations.RunPython.noop)]
