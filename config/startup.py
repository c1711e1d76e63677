"""Checks of each process before it works.

PostgreSQL is new enough, keeps prepared statements and has this version's schema, and the keys read its secrets.

While the database is away or empty, nothing is known, and a process starts.
"""

from contextlib import ExitStack, closing

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, NotSupportedError, connection

from common.database import postgres, schema
from config.environment.env import Misconfigured
from jobs import kinds
from notifications.channels import key_rotation

is_done = False
"""Whether this process is a fork of one that has checked, and shares its memory."""


def check() -> None:
    """Raise Misconfigured where work would fail, or be lost. Returns this thread's connection."""
    if is_done:
        return
    if unknown := settings.JOB_QUEUES.keys() - (existing := {kind.name for kind in kinds.all()}):
        problem = f"names “{min(unknown)}”, which is not a kind of job: they are {', '.join(sorted(existing))}"
        raise Misconfigured("JOB_QUEUES", problem, "web_value=slow,feed=slow")
    try:
        _check_pooler()
        if difference := schema.difference():
            raise ImproperlyConfigured(f"{difference}. Run `python manage.py migrate`, which says what to do.")
        _check_keys()
    except NotSupportedError as error:  # Django's check of the server's version
        raise ImproperlyConfigured(f"{error} Check DATABASE_URL.") from None
    except (DatabaseError, InterfaceError) as error:
        if not postgres.blames_no_row(error):
            raise
    finally:
        connection.close()


def _check_pooler() -> None:
    """Execute a prepared statement on a connection whose session another one has taken, as behind a pooler."""
    with ExitStack() as opened:
        ours, other = (opened.enter_context(closing(postgres.own_connection())) for _ in range(2))
        postgres.execute("SELECT %(number)s::int", {"number": 1}, ours)
        with other.cursor() as cursor:
            cursor.execute("BEGIN; SELECT 1")
        try:
            postgres.execute("SELECT %(number)s::int", {"number": 1}, ours)
        except DatabaseError as error:
            if not postgres.is_lost_statement(error):
                raise
            problem = (
                "leads to a pooler that loses prepared statements: use PgBouncer 1.21 or newer with "
                "max_prepared_statements, pool_mode=session, or PostgreSQL itself"
            )
            raise Misconfigured(
                "DATABASE_URL", problem, "postgresql://carillon:password@127.0.0.1:5432/carillon"
            ) from None


def _check_keys() -> None:
    if key_rotation.keys_match():
        return
    problem = (
        "cannot read the secrets that are stored here: put the former key back, behind the new one; "
        "if it is lost for good, run `python manage.py rotate_keys --lost`"
    )
    raise Misconfigured("ENCRYPTION_KEYS", problem, "new-key,former-key")
