"""Days in a row with a contribution on GitHub: it warns before a streak ends, or praises each day."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar

from django import forms
from django.utils import formats
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop, ngettext, pgettext

from common.times import civil_time
from jobs.connections import github
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused
from jobs.reasons import JobCode
from notifications.messages import text
from notifications.providers.base import PatternField
from work.reasons import FORMATS, Codes, Reason

# One request answers a year; a check asks for at most so many.
MOST_YEARS = 10

# With those of managed accounts, which have an underscore.
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?")
_DAY = timedelta(days=1)
_YEAR = timedelta(days=364)
_HOUR = timedelta(hours=1)
_DAYS = (
    "{ login contributionsCollection(from: $from, to: $to) "
    "{ contributionCalendar { weeks { contributionDays { date contributionCount } } } } }"
)
_OWN = f"query($from: DateTime!, $to: DateTime!) {{ viewer {_DAYS} }}"
_OF = f"query($login: String!, $from: DateTime!, $to: DateTime!) {{ user(login: $login) {_DAYS} }}"


def _contributions(count: int) -> str:
    return ngettext("%(count)s contribution", "%(count)s contributions", count) % {"count": count}


FORMATS["contributions"] = _contributions


class StreakCode(Codes):
    CHECKED = "github-streak", gettext_noop("checked GitHub: {today:contributions} today, streak {streak}")
    # While the date in UTC is another one than the person's.
    CHECKED_ON = "github-streak-on", gettext_noop("checked GitHub: {today:contributions} on {day}, streak {streak}")
    NO_LOGIN = "github-streak-no-login", gettext_noop("the account is not a name on GitHub")
    OVER = (
        "github-streak-over",
        gettext_noop("checked GitHub after {day} had ended, without a contribution, streak {streak}"),
    )


class StreakForm(forms.Form):
    ALWAYS = "always"
    EMPTY = "empty"

    login = PatternField(
        _LOGIN,
        gettext_lazy("A name on GitHub has letters, digits and hyphens, such as octocat."),
        label=gettext_lazy("Account"),
        required=False,
        max_length=100,
        help_text=gettext_lazy("A name on GitHub. Empty: the account of the connection."),
    )
    when = forms.ChoiceField(
        label=gettext_lazy("Send it"),
        choices=[(EMPTY, gettext_lazy("Only if nothing was contributed that day")), (ALWAYS, gettext_lazy("Always"))],
        initial=EMPTY,
        required=False,
        error_messages={"invalid_choice": gettext_lazy("Choose “only if nothing was contributed”, or “always”.")},
    )
    done_title = forms.CharField(
        label=gettext_lazy("Title if there are contributions"),
        required=False,
        max_length=text.MAX_SUBJECT,
        initial=gettext_lazy("Your {streak}-day streak is safe"),
        widget=forms.TextInput(attrs={"data-only": ALWAYS}),
        help_text=gettext_lazy("With “always”. Empty: the suggested title."),
    )
    done_body = forms.CharField(
        label=gettext_lazy("Text if there are contributions"),
        required=False,
        max_length=text.MAX_BODY,
        initial=gettext_lazy("Great job! You made {contributions} today. Your {streak}-day streak is safe."),
        help_text=gettext_lazy("With “always”. Empty: the suggested text."),
        widget=forms.Textarea(attrs={"rows": 3, "data-only": ALWAYS}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name in ("done_title", "done_body"):
            cleaned[name] = cleaned.get(name) or str(self.fields[name].initial)
            for problem in text.check(cleaned[name], list(GitHubStreak.placeholders)):
                self.add_error(name, forms.ValidationError(problem, "placeholder"))
        cleaned["when"] = cleaned.get("when") or self.EMPTY
        return cleaned


class GitHubStreak(JobKind):
    name = "github_streak"
    label = gettext_lazy("GitHub streak")
    about = gettext_lazy("Reminds you of your streak on GitHub, on days without a contribution.")
    position = 10
    connection = "github"
    deadline = 30.0  # for as many requests as a long streak has years
    form = StreakForm
    placeholders: ClassVar = {
        "today": "0",
        "contributions": gettext_lazy("0 contributions"),
        "streak": "41",
        "hours_left": "5",
        "time_left": gettext_lazy("5 hours are left"),
        "login": "octocat",
        "day": gettext_lazy("Sunday 22 November"),
    }
    title = gettext_lazy("Your {streak}-day streak is at risk")
    body = gettext_lazy(
        "You have not made any contributions today. Your {streak}-day streak is at risk: {time_left}.\n\nCounted for "
        "{day}."
    )

    def summary(self, payload: Mapping[str, Any]) -> str:
        return _("contributions of %(account)s on GitHub") % {"account": payload.get("login") or _("your account")}

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        login = ask.payload.get("login", "")
        if not isinstance(login, str) or not re.fullmatch(f"({_LOGIN.pattern})?", login):
            return Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem=Reason(StreakCode.NO_LOGIN)))
        if ask.source is None:
            return Refused(Reason(JobCode.NO_CONNECTION))
        end = today = _day(ask)
        account, days = login, dict[date, int]()
        for _year in range(MOST_YEARS):
            answer = _ask(fetch, ask.source.secrets.get("token", ""), login, end - _YEAR, end)
            if not isinstance(answer, tuple):
                return answer
            account, more = answer
            # The first day of a range may be cut short, where GitHub counts in another zone.
            days |= {day: max(count, days.get(day, 0)) for day, count in more.items()}
            end -= _YEAR
            if today - streak(days, today) * _DAY > end + _DAY:
                break
        return Found({"login": account, "days": {day.isoformat(): count for day, count in days.items() if count}})

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        days = {date.fromisoformat(day): int(count) for day, count in value["days"].items()}
        day = _day(ask)
        today, length = days.get(day, 0), streak(days, day)
        end = civil_time.first_instant(ask.zone, datetime.combine(day + _DAY, time()))
        shown = formats.date_format(day, pgettext("date pattern", "l j F"))
        seen = Reason(
            StreakCode.CHECKED if day == ask.now.astimezone(UTC).date() else StreakCode.CHECKED_ON,
            today=today,
            streak=length,
            day=shown,
            login=value["login"],
        )
        if not today and ask.now >= end:
            return Nothing(Reason(StreakCode.OVER, today=0, streak=length, day=shown, login=value["login"]))
        if today and ask.payload.get("when") != StreakForm.ALWAYS:
            return Nothing(seen)
        hours = max(0, math.ceil((end - ask.now) / _HOUR))
        words = {
            "today": str(today),
            "contributions": _contributions(today),
            "streak": str(length),
            "hours_left": str(hours),
            "time_left": ngettext("%(count)s hour is left", "%(count)s hours are left", hours) % {"count": hours},
            "login": value["login"],
            "day": shown,
        }
        if not today:
            return Say(seen, words)
        return Say(seen, words, title=_text(ask, "done_title"), body=_text(ask, "done_body"))


def streak(days: Mapping[date, int], today: date) -> int:
    """Return how many days in a row up to today have a contribution; an empty today does not end it."""
    day = today if days.get(today) else today - _DAY
    first = day
    while days.get(day):
        day -= _DAY
    return (first - day).days


def _day(ask: Ask) -> date:
    """The day that is asked about: that of the slot, so that a check just after midnight is of the day before."""
    return ask.slot.astimezone(ask.zone).date()


def _text(ask: Ask, name: str) -> str:
    return str(ask.payload.get(name) or StreakForm.base_fields[name].initial)


def _ask(fetch: Fetch, token: str, login: str, start: date, end: date) -> tuple[str, dict[date, int]] | Later | Refused:
    """The account's name and its counts. GitHub takes a year at most, and has no zone for the dates it answers."""
    between = {"from": f"{start}T00:00:00Z", "to": f"{end}T23:59:59Z"}
    of = {"login": login} if login else {}
    data = github.ask(fetch, token, _OF if login else _OWN, **of, **between)
    if not isinstance(data, dict):
        return data
    account = github.read(data, "user" if login else "viewer")
    weeks = github.read(account, "contributionsCollection", "contributionCalendar", "weeks")
    try:
        counted = [day for week in weeks for day in week["contributionDays"]]
        days = {date.fromisoformat(day["date"]): int(day["contributionCount"]) for day in counted}
        return (str(account["login"]), days) if days else github.incomplete()
    except (KeyError, TypeError, ValueError):
        return github.incomplete()
