"""The task of status mails, one for the stock scheduler (our own beat records what is due at each tick), and one that
prunes."""

from celery import shared_task

from common.database.postgres import change
from watches import notices
from watches.models.watch import DOWNTIME_DAYS
from watches.status_pages import subscribers
from watches.status_pages.mail import STATUS_MAIL
from work.broker import periodic
from work.retention import Retention
from work.tasks import task_of

send_status_mail = task_of(STATUS_MAIL)
record_due = shared_task(name="watches.tell", ignore_result=True)(notices.record_due)
periodic.NEEDED["watches.tell"] = lambda: "SELECT WHERE false"  # our own beat has recorded it

PINGS = Retention("pings", "INBOUND_KEPT_DAYS", "watches_ping", "d.at < %(since)s AND d.tells = ''")

MAILS = Retention.work(STATUS_MAIL, "status mails", "INBOUND_KEPT_DAYS", "SELECT WHERE false")


@shared_task(name="watches.prune")
def prune() -> int:
    change(_PRUNE_DOWNTIME, {"days": DOWNTIME_DAYS})
    subscribers.forget_unconfirmed()
    MAILS.prune()
    return PINGS.prune()


_PRUNE_DOWNTIME = "DELETE FROM watches_dailydowntime WHERE day < current_date - %(days)s"
