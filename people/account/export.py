"""Everything that is stored of a person, as a zip of JSON lines: one file a table, without secrets."""

import zipfile
from collections.abc import Iterator
from typing import IO

from django.db import connection, models, transaction
from django.utils.translation import gettext as _

from people.account.rows import tables
from people.models import User

_BATCH = 2_000
# Columns that hold or find a secret, in any table; and those of single tables.
SECRET = ("password", "sealed_secrets", "hashed", "token", "lease_token")
_SECRET_IN = {
    "account.EmailConfirmation": ("key",),
    "mfa.Authenticator": ("data",),
    "people.Session": ("session_key", "session_data"),
    "api.StoredAnswer": ("body", "fingerprint"),
}


def write(user: User, file: IO[bytes]) -> None:
    """Write the zip. Memory stays the same however many rows there are."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, transaction.atomic():
        archive.writestr("README.txt", _readme(user))
        for model in tables():
            _write(archive, f"{model._meta.db_table}.jsonl", _rows(model, user.pk))


def _write(archive: zipfile.ZipFile, name: str, batches: Iterator[list[str]]) -> None:
    """No file for nothing."""
    if not (first := next(batches, None)):
        return
    with archive.open(name, "w", force_zip64=True) as member:
        batch: list[str] | None = first
        while batch:
            member.write(("\n".join(batch) + "\n").encode())
            batch = next(batches, None)


def _rows(model: type[models.Model], user_id: int) -> Iterator[list[str]]:
    """The person's rows of a table as JSON, in batches, by a cursor of the server."""
    quote = connection.ops.quote_name
    joins, table, last = "", "t0", tables()[model]
    for number, key in enumerate(last[:-1], 1):
        parent = key.remote_field.model._meta
        joins += f" JOIN {quote(parent.db_table)} t{number} ON t{number}.{quote(str(key.target_field.column))}"
        joins += f" = {table}.{quote(str(key.column))}"
        table = f"t{number}"
    column = str(last[-1].column if last else "id")
    statement = (
        f"SELECT (to_jsonb(t0) - %(secret)s::text[])::text FROM {quote(model._meta.db_table)} t0{joins}"  # noqa: S608
        f" WHERE {table}.{quote(column)} = %(user)s"
    )
    secret = [*SECRET, *_SECRET_IN.get(model._meta.label, ())]
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, {"secret": secret, "user": user_id})
        while batch := cursor.fetchmany(_BATCH):
            yield [row[0] for row in batch]


def _readme(user: User) -> str:
    return _(
        "Everything that Carillon stores of the account %(email)s.\n\n"
        "There is one file for each table, with one row in each line, as JSON. Times are in UTC or have their offset. "
        "Passwords, tokens, keys and the secrets of channels and connections are left out.\n\n"
        "Reminders are in schedules_schedule.jsonl, messages in notifications_notification.jsonl, what was sent to "
        "which channel in notifications_delivery.jsonl, and each try in notifications_attempt.jsonl.\n"
    ) % {"email": user.email}
