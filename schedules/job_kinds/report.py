"""A report of what was sent, what failed and what comes: a person's own, or for staff one over everybody."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, cast
from zoneinfo import ZoneInfo

from django import forms
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop, ngettext

from common.database.postgres import persist
from common.texts.numbers import grouped
from common.times import civil_time, durations
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused
from jobs.reasons import JobCode
from notifications import providers
from people.models import User
from schedules.job_kinds import report_queries as queries
from work.reasons import FORMATS, Codes, Reason, sentence

ME, EVERYBODY = "me", "everybody"
_HEADS = {"sent": gettext_lazy("Sent"), "failed": gettext_lazy("Failed"), "coming": gettext_lazy("In the next 7 days")}

# Of each period the days, its name in the suggested title ("Your week: …"), and its summary for one and for everybody.
_PERIODS = {
    "day": (1, gettext_lazy("day"), gettext_lazy("your last day"), gettext_lazy("everybody's last day")),
    "week": (7, gettext_lazy("week"), gettext_lazy("your last week"), gettext_lazy("everybody's last week")),
    "month": (30, gettext_lazy("month"), gettext_lazy("your last month"), gettext_lazy("everybody's last month")),
}
_UNKNOWN_PERIOD = (0, "", gettext_lazy("your last days"), gettext_lazy("everybody's last days"))

FORMATS["days"] = lambda days: ngettext("the last day", "the last %(count)s days", days) % {"count": days}
FORMATS["counted"] = lambda count: (
    f"{grouped(queries.MOST_COUNTED)}+" if count > queries.MOST_COUNTED else grouped(count)
)


class ReportCode(Codes):
    CHECKED = "report-checked", gettext_noop("checked {days:days}: {sent:counted} sent, {failed:counted} failed")
    CHECKED_ALL = (
        "report-checked-for-all",
        gettext_noop(
            "checked {days:days} of everybody: {sent:number} sent, {failed:number} failed, {dead:counted} dead letters"
        ),
    )
    NO_PERIOD = "report-no-period", gettext_noop("its period is unknown")
    NOT_STAFF = (
        "report-for-staff",
        gettext_noop("A report over everybody is for staff who may view all deliveries. Choose “my own reminders”."),
    )


class ReportForm(forms.Form):
    period = forms.ChoiceField(
        choices=[
            ("day", gettext_lazy("The last day")),
            ("week", gettext_lazy("The last 7 days")),
            ("month", gettext_lazy("The last 30 days")),
        ],
        initial="week",
        error_messages=dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose “day”, “week” or “month”.")),
    )
    of = forms.ChoiceField(
        label=gettext_lazy("About"),
        choices=[(ME, gettext_lazy("My own reminders")), (EVERYBODY, gettext_lazy("Everybody (staff only)"))],
        initial=ME,
        required=False,
        error_messages={"invalid_choice": gettext_lazy("Choose “me” or “everybody”.")},
    )
    without = forms.MultipleChoiceField(
        label=gettext_lazy("Leave out"),
        choices=list(_HEADS.items()),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages=dict.fromkeys(
            ("invalid_choice", "invalid_list"), gettext_lazy("Leave out some of “sent”, “failed” and “coming”.")
        ),
    )
    only_failed = forms.BooleanField(label=gettext_lazy("Only if something failed"), required=False)


class Report(JobKind):
    name = "report"
    label = gettext_lazy("Report")
    about = gettext_lazy("Sums up what was sent, what failed and why, and what comes next.")
    position = 40
    form = ReportForm
    placeholders: ClassVar = {
        "report": gettext_lazy("Sent: 12 …"),
        "sent": "12",
        "failed": "1",
        "coming": "5",
        "period": gettext_lazy("week"),
    }
    title = gettext_lazy("Your {period}: {sent} sent, {failed} failed")
    body = "{report}"

    def restrict(self, form: forms.Form, user: User) -> None:
        if not user.sees_everybody:
            of = cast(forms.ChoiceField, form.fields["of"])
            of.choices = [(ME, gettext_lazy("My own reminders"))]
            of.error_messages["invalid_choice"] = _(ReportCode.NOT_STAFF.text)

    def payload(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        return {**cleaned, "of": cleaned["of"] or ME}

    def summary(self, payload: Mapping[str, Any]) -> str:
        _days, _name, of_person, of_everybody = _PERIODS.get(str(payload.get("period")), _UNKNOWN_PERIOD)
        return str(of_everybody if payload.get("of") == EVERYBODY else of_person)

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        period, of = ask.payload.get("period"), ask.payload.get("of", ME)
        if not isinstance(period, str) or period not in _PERIODS or of not in (ME, EVERYBODY):
            return Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem=Reason(ReportCode.NO_PERIOD)))
        end, length = ask.slot, timedelta(days=_PERIODS[period][0])
        start = civil_time.first_instant(ask.zone, civil_time.local(ask.zone, end) - length)
        if of == ME:
            return Found(_as_json(queries.of_person(ask.user_id, start, end)))
        if not persist(lambda: User.objects.get(pk=ask.user_id).sees_everybody):
            return Refused(Reason(ReportCode.NOT_STAFF))
        return Found(_as_json(queries.of_everybody(start, end)))

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        days, period, *_of = _PERIODS[ask.payload["period"]]
        if "providers" in value:
            sent, failed = (sum(row[at] for row in value["providers"]) for at in (1, 2))
            seen = Reason(ReportCode.CHECKED_ALL, days=days, sent=sent, failed=failed, dead=value["dead"])
            text, coming = _text_of_everybody(value, ask.zone), 0
        else:
            sent, failed, coming = (value[part]["count"] for part in _HEADS)
            seen = Reason(ReportCode.CHECKED, days=days, sent=sent, failed=failed)
            text = _text_of_person(value, ask.payload.get("without") or [], ask.zone)
        if ask.payload.get("only_failed") and not failed:
            return Nothing(seen)
        counts = {"sent": sent, "failed": failed, "coming": coming}
        counted = {name: FORMATS["counted"](count) for name, count in counts.items()}
        return Say(seen, counted | {"report": text, "period": str(period)})


def _as_json(counts: dict[str, Any]) -> Any:
    return json.loads(json.dumps(counts, default=str))


def _text_of_person(value: Mapping[str, Any], without: list[str], zone: ZoneInfo) -> str:
    parts = []
    for part, head in _HEADS.items():
        if part in without:
            continue
        count, lines = value[part]["count"], value[part]["lines"]
        part_lines = [f"{head}: {FORMATS['counted'](count)}"]
        for at, subject, *failure in lines:
            part_lines.append(f"- {_time(at, zone)} {subject}")
            if failure:
                channel, code, params = failure
                part_lines[-1] += f" ({channel}): {sentence(code, params)}"
        if count > len(lines):
            part_lines.append("- …")
        parts.append("\n".join(part_lines))
    return "\n\n".join(parts)


def _text_of_everybody(value: Mapping[str, Any], zone: ZoneInfo) -> str:
    lines = [
        _("- %(label)s: %(sent)s sent, %(failed)s failed")
        % {"label": providers.label(name), "sent": grouped(sent), "failed": grouped(failed)}
        for name, sent, failed in value["providers"]
    ]
    lines = [_("By provider:"), *lines] if lines else [_("Nothing was sent.")]
    lines.append("\n" + _("Dead letters waiting: %(value)s") % {"value": FORMATS["counted"](value["dead"])})
    if value["busiest"]:
        at, count = value["busiest"]
        busiest = {"time": _time(at, zone), "count": grouped(count)}
        lines.append(_("Busiest hour: %(time)s, %(count)s messages") % busiest)
    if value["late"]:
        median, most = (durations.in_words(timedelta(seconds=max(0.0, late))) for late in value["late"])
        late = {"median": median, "most": most}
        lines.append(_("Lateness of firings: half within %(median)s, 99 %% within %(most)s") % late)
    return "\n".join(lines)


def _time(written: str, zone: ZoneInfo) -> str:
    at = datetime.fromisoformat(written).astimezone(zone)
    return f"{at:%a} {at.day} {at:%b %H:%M}"
