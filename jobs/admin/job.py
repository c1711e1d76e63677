"""Jobs with their attempts, and the dead letters among them."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from jobs import kinds
from jobs.admin.owned import OwnedWorkAdmin, to_notification
from jobs.checks.kind import JOB
from jobs.models import DeadLetter, Job
from work.admin.dead_letter import DeadLetterAdmin


class JobRecord(OwnedWorkAdmin):
    """The common part of jobs and dead letters."""

    kind = JOB
    about = (("kind_label", "queue"), ("person", "due"), ("connection", "notification"), "on_error", "payload")
    technical = ("batch_id", "cause")
    search_ids = ("origin_id", "batch_id")
    search_help_text = _("The id of a reminder, of a batch, or an idempotency key.")

    def handler_label(self, handler: str) -> str:
        return kinds.label(handler)

    kind_label = columns.column(_("kind"), "kind", kinds.label)
    notification = columns.column(_("notification"), "notification_id", to_notification)
    due = columns.instant_column(_("due"), "slot")


@admin.register(Job)
class JobAdmin(JobRecord):
    list_display = ("kind_label", "state_label", "why", "person", "due", "tries", "available")
    link_lookups = ("user__id__exact", "connection__id__exact")
    empty_text = _("No reminder has checked anything yet.")


@admin.register(DeadLetter)
class DeadJobAdmin(DeadLetterAdmin, JobRecord):
    list_display = ("kind_label", "state_label", "why", "person", "settled", "tries", "replays")
    newest = ("kind_label", "person", "why", "settled")
