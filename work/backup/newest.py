"""The newest good backup: whether another one is due, and whether it is too old."""

import subprocess
import sys
import threading
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database.postgres import query
from work.models import Backup


def last() -> datetime | None:
    """When the data of the newest good backup was read."""
    return Backup.objects.aggregate(taken=Max("taken_at"))["taken"]


def is_due() -> bool:
    if not settings.BACKUP_TO:
        return False
    return (taken := last()) is None or timezone.now() - taken >= timedelta(hours=settings.BACKUP_EVERY_HOURS)


def age() -> timedelta | None:
    """Since the data of the newest good backup; without one, since the installation began. None: nobody wants any."""
    if (since := last()) is None:
        if not settings.BACKUP_TO:
            return None
        [row] = query("SELECT min(applied) AS since FROM django_migrations", [])
        since = row.since
    return timezone.now() - since


def is_late() -> bool:
    """Whether nothing came to BACKUP_TO for two intervals."""
    most = timedelta(hours=2 * settings.BACKUP_EVERY_HOURS)
    return bool(settings.BACKUP_TO) and (age() or most) >= most


def problem() -> str:
    """A sentence for operators if the newest backup is older than two intervals; empty if all is well."""
    if not settings.BACKUP_TO:
        return ""
    if (taken := last()) is None:
        return _("There is no backup yet. If this stays so, read the logs of the workers.")
    if not is_late():
        return ""
    return _("The newest backup is of %(when)s UTC. Read the logs of the workers.") % {
        "when": f"{taken:%Y-%m-%d %H:%M}"
    }


def start_if_due() -> None:
    """Start a process for it: it may take longer than a task, and no other work waits for it."""
    if is_due():
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "backup", "--if-due"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        threading.Thread(target=process.wait, name="backup", daemon=True).start()
