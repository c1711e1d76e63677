"""Check now what a reminder checks, and say what it would say. It sends nothing."""

from jobs.checks import check_now as jobs_check_now
from jobs.checks.check_now import Checked, Question
from jobs.checks.recording import SendAs
from people.models import User
from schedules.changes.editing import asks_the_same
from schedules.models import Schedule


def check_now(user: User, asked: Schedule, stored: Schedule | None = None) -> Checked:
    """Do not call it in a transaction: it waits for a worker.

    `asked` need not be saved. If it asks the question of `stored`, it knows what that has found.
    """
    known = None if stored is None or not asks_the_same(asked, stored) else stored.id
    question = Question(
        kind=asked.job_kind,
        payload=asked.job_payload or {},
        connection=asked.connection,
        send_as=SendAs(
            title=asked.title, body=asked.body, channels=(), name=user.get_short_name(), time_zone=asked.time_zone
        ),
        origin_id=known,
    )
    return jobs_check_now.check_now(user, question)
