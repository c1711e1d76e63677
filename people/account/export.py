"""Everything that is stored of a person, as a zip of JSON lines: one file a table, without secrets."""

import zipfile
from collections.abc import Iterator
from typing import IO

from django.db import connections, models, transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from common.database import replica
from people.account.rows import children, tables
from people.models import User

_BATCH = 2_000
# Columns that hold or find a secret, in any table; and those of single tables.
SECRET = ("password", "sealed_secrets", "hashed", "token", "lease_token")
_SECRET_IN = {
    "account.EmailConfirmation": ("key",),
    "mfa.Authenticator": ("data",),
    "people.Session": ("session_key", "session_data"),
    "api.StoredAnswer": ("body", "fingerprint"),
    "watches.PingKey": ("key",),
    "watches.StatusPage": ("slug",),
}


def write(user: User, file: IO[bytes]) -> None:
    """Write the zip, without files for empty tables. Memory stays the same however many rows there are."""
    file.seek(0)
    file.truncate()  # of a replica that failed
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        transaction.atomic(using=replica.alias()),
    ):
        archive.writestr("README.txt", _readme(user))
        for model in tables():
            rows = _rows(model, user.pk)
            if batch := next(rows, None):
                with archive.open(f"{model._meta.db_table}.jsonl", "w", force_zip64=True) as member:
                    while batch:
                        member.write(("\n".join(batch) + "\n").encode())
                        batch = next(rows, None)


def _rows(model: type[models.Model], user_id: int) -> Iterator[list[str]]:
    """The person's rows of a table as JSON, in batches, by a cursor of the server."""
    connection = connections[replica.alias()]
    chain = tables()[model]
    # Memberships have two keys: of the person, and of the team.
    owners = [key.name for key in children(User) if chain and key.model is chain[-1].model]
    paths = ["__".join([*(key.name for key in chain[:-1]), owner]) for owner in owners] or ["pk"]
    table = connection.ops.quote_name(model._meta.db_table)
    secret = [*SECRET, *_SECRET_IN.get(model._meta.label, ())]
    line = RawSQL(f"(to_jsonb({table}) - %s::text[])::text", [secret], models.TextField())  # noqa: S611
    own = Q(*((path, user_id) for path in paths), _connector=Q.OR)
    rows = model._base_manager.filter(own).order_by().values_list(line)
    with connection.chunked_cursor() as cursor:  # `iterator` uses none behind a pooler, by our settings
        cursor.execute(*rows.query.sql_with_params())
        while batch := cursor.fetchmany(_BATCH):
            yield [row[0] for row in batch]


def _readme(user: User) -> str:
    return _(
        "Everything that Carillon stores of the account %(email)s.\n\n"
        "There is one file for each table, with one row in each line, as JSON. Times are in UTC or have their offset. "
        "Passwords, tokens, keys, addresses of status pages, and the secrets of channels and connections are left "
        "out.\n\n"
        "Reminders are in schedules_schedule.jsonl, messages in notifications_notification.jsonl, what was sent to "
        "which channel in notifications_delivery.jsonl, and each try in notifications_attempt.jsonl.\n"
    ) % {"email": user.email}
