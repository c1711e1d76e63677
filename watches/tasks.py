"""A task for the stock scheduler, since our own beat tells what is due at each tick; and one that prunes pings."""

from celery import shared_task

from common.database.postgres import change
from watches import tell
from watches.models.watch import KEPT_DOWNTIME
from work import periodic
from work.retention import Retention


@shared_task(name="watches.tell", ignore_result=True)
def tell_due() -> None:
    tell.tell_due()


periodic.NEEDED["watches.tell"] = lambda: "SELECT WHERE false"  # our own beat has told it

PINGS = Retention("pings", "INBOUND_KEPT_DAYS", "watches_ping", "d.at < %(since)s AND d.tells = ''")


@shared_task(name="watches.prune")
def prune() -> int:
    change(_PRUNE_DOWNTIME, {"days": KEPT_DOWNTIME})
    return PINGS.prune()


_PRUNE_DOWNTIME = "DELETE FROM watches_dailydowntime WHERE day < current_date - %(days)s"
