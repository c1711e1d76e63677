"""Compare two versions of a schedule, field by field."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from common.forms.edit_form import Differences
from common.times import durations
from jobs import kinds
from jobs.batches import audiences
from jobs.models.job import OnError
from notifications.inputs.channels_form import channel_rows, compared
from notifications.models import Channel
from schedules.inputs.list_fields import written
from schedules.models import Schedule


def differences(saved: Schedule, typed: Schedule, channels: Sequence[Channel]) -> Differences:
    state = saved.get_state_display()
    return [*compared(_rows, saved, typed, channels), (_("State"), state, state)]


def _rows(schedule: Schedule, channels: Sequence[Channel]) -> list[tuple[str, str]]:
    names = audiences.named(schedule.user) if schedule.audience else {}
    return [
        (_("Title"), schedule.title),
        (_("Text"), schedule.body),
        (_("Checks"), schedule.checks),
        (_("Connection"), str(schedule.connection or "")),
        (_("If the check fails"), on_error(schedule)),
        (_("Uses answers up to"), fresh_for(schedule)),
        (_("For"), schedule.audience and audiences.name_of(names, schedule.audience, schedule.audience_key)),
        (_("When"), schedule.when),
        (_("Not before"), _moment(schedule.starts_at)),
        (_("Not after"), _moment(schedule.ends_at)),
        (_("Not on"), written(schedule.excluded)),
        (_("At most"), str(schedule.max_count or "")),
        (_("Count from Done"), _("Yes") if schedule.after_done else ""),
        (_("If it was missed"), str(schedule.get_misfire_display())),
        (_("Missed after"), _("%(count)s s") % {"count": schedule.grace}),
        (_("Spread over"), _seconds(schedule.spread)),
        (_("Do not send if older than"), _seconds(schedule.stale_after)),
        (_("Tags"), ", ".join(schedule.tags)),
        (_("Category"), schedule.category),
        *channel_rows(schedule, channels),
        (_("Minutes until it rings again"), str(schedule.nag_every or "")),
        (_("Rings again at most"), str(schedule.nag_times or "")),
        (_("Again on"), ", ".join(one.label for one in channels if one.id in schedule.nag_channel_ids)),
    ]


def on_error(schedule: Schedule) -> str:
    """Return the owner's choice for a failed check in words; "" if it checks nothing."""
    if not schedule.job_kind:
        return ""
    if schedule.on_error == OnError.AFTER:
        return _("Tell me after %(count)s failures in a row") % {"count": schedule.errors_allowed}
    return str(schedule.get_on_error_display())


def fresh_for(schedule: Schedule) -> str:
    """Return how old an answer may be that its checks use, in words; "" if they always ask."""
    kind = kinds.find(schedule.job_kind)
    seconds = kind.fresh(schedule.job_payload or {}) if kind else 0
    return durations.in_words(timedelta(seconds=seconds)) if seconds else ""


def _seconds(count: int | None) -> str:
    return _("%(count)s s") % {"count": count} if count else ""


def _moment(when: datetime | None) -> str:
    return "" if when is None else f"{timezone.localtime(when):%d %b %Y, %H:%M %Z}"
