"""Compare two versions of a schedule, field by field."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.batches import audiences
from jobs.models.job import OnError
from notifications.inputs.channels_form import channel_names
from schedules.changes.editing import Draft
from schedules.inputs.dates_field import written
from schedules.models import Schedule

# What the rows below are made of.
_SHOWN = (
    *("kind", "rule", "time_zone", "local_time"),
    *("job_kind", "job_payload", "connection", "on_error", "errors_allowed"),
)


def differences(schedule: Schedule, draft: Draft) -> list[tuple[str, str, str]]:
    """(label, saved, typed) for each field that either version has."""
    mine = Schedule(**{name: getattr(draft, name) for name in _SHOWN})
    rows = [
        (_("Title"), schedule.title, draft.title),
        (_("Text"), schedule.body, draft.body),
        (_("Looks at"), schedule.looks_at, mine.looks_at),
        (_("Connection"), _connection(schedule), _connection(mine)),
        (_("If it cannot look"), on_error(schedule), on_error(mine)),
        (_("For"), _audience(schedule, schedule), _audience(schedule, draft)),
        (_("When"), schedule.when, mine.when),
        (_("Not before"), _moment(schedule.starts_at), _moment(draft.starts_at)),
        (_("Not after"), _moment(schedule.ends_at), _moment(draft.ends_at)),
        (_("Not on"), written(schedule.excluded), written(draft.excluded)),
        (_("At most"), str(schedule.max_count or ""), str(draft.max_count or "")),
        (_("If it was missed"), schedule.get_misfire_display(), str(draft.misfire.label)),
        (_("Missed after"), _("%(count)s s") % {"count": schedule.grace}, _("%(count)s s") % {"count": draft.grace}),
        (_("Spread over"), _seconds(schedule.spread), _seconds(draft.spread)),
        (_("Do not send if older than"), _seconds(schedule.stale_after), _seconds(draft.stale_after)),
        (_("Tags"), ", ".join(schedule.tags), ", ".join(draft.tags)),
        (_("Category"), schedule.category, draft.category),
        (_("Urgent"), _yes(schedule.urgent), _yes(draft.urgent)),
        (
            _("Channels"),
            channel_names(schedule.ordered_channels(), bool(schedule.channel_order)),
            channel_names(draft.channels, draft.in_order),
        ),
        (_("Minutes until the next one"), str(schedule.escalate_after or ""), str(draft.escalate_after or "")),
        (_("State"), schedule.get_state_display(), schedule.get_state_display()),
    ]
    return [row for row in rows if row[1] or row[2]]


def _connection(schedule: Schedule) -> str:
    return "" if schedule.connection is None else schedule.connection.label


def on_error(schedule: Schedule) -> str:
    """What its owner wants where it cannot look; "" if it looks at nothing."""
    if not schedule.job_kind:
        return ""
    if schedule.on_error == OnError.AFTER:
        return _("Tell me after %(count)s failures in a row") % {"count": schedule.errors_allowed}
    return str(schedule.get_on_error_display())


def _audience(schedule: Schedule, version: Schedule | Draft) -> str:
    return audiences.name_of(schedule.user, version.audience, version.audience_key) if version.audience else ""


def _seconds(count: int | None) -> str:
    return _("%(count)s s") % {"count": count} if count else ""


def _yes(value: bool) -> str:
    return _("Yes") if value else ""


def _moment(when: datetime | None) -> str:
    return "" if when is None else f"{timezone.localtime(when):%d %b %Y, %H:%M %Z}"
