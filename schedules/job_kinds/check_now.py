"""Check now what a reminder checks, and say what it would say. It sends nothing."""

from jobs.checks import check_now as jobs_check_now
from jobs.checks.check_now import Checked
from jobs.checks.recording import SendAs
from people.models import User
from schedules.changes.editing import asks_the_same
from schedules.models import Schedule


def check_now(user: User, wanted: Schedule, stored: Schedule | None = None) -> Checked:
    """Do not call it in a transaction: it waits for a worker.

    `wanted` need not be saved. If it asks the question of `stored`, it continues from what that has found.
    """
    origin_id = None if stored is None or not asks_the_same(wanted, stored) else stored.id
    send_as = SendAs(
        title=wanted.title, body=wanted.body, channels=(), name=user.get_short_name(), time_zone=wanted.time_zone
    )
    return jobs_check_now.check_now(
        user, wanted.job_kind, wanted.job_payload or {}, wanted.connection_id, send_as, origin_id
    )
