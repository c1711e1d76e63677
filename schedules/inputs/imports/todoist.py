"""Tasks of a Todoist project that is exported as CSV (https://www.todoist.com/help/articles/208821185)."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from common.zones import known
from schedules.inputs import quick_add
from schedules.inputs.imports.items import Fate, Item, timed
from schedules.inputs.imports.table import Row
from schedules.inputs.sentences import NotUnderstood
from schedules.inputs.timing_form import TimingForm
from schedules.job_kinds.calendar_events import short_key
from schedules.rules import InvalidRule

# To it, these are days of a month.
_NTH_DAYS = {
    r"(every!? (?:\d(?:st|nd|rd|th)|first|second|third|fourth|last) (?!month)(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)\b"
    "(?! of)": r"\1 of the month",
    r"(jede[nr]?!? (?:\d\.|(?:erst|zweit|dritt|viert|letzt)e[nr]?) (?:mo(?:ntag)?|di(?:enstag)?|mi(?:ttwoch)?|"
    r"do(?:nnerstag)?|fr(?:eitag)?|sa(?:mstag)?|so(?:nntag)?))\b(?! (?:im|des))": r"\1 im Monat",
    r"(cada!? (?:\d(?:er|[ºo.])|primer|segundo|tercer|cuarto|último) (?:lunes|martes|miércoles|jueves|viernes|sábado|"
    r"domingo))\b(?! del)": r"\1 del mes",
}


def is_head(head: list[str]) -> bool:
    return {"TYPE", "CONTENT"} <= {*head}


def read(rows: Iterator[Row], zone: str, now: datetime) -> Iterator[Item]:
    """`zone` is that of dates without one. Sections and comments have no date."""
    for row in rows:
        if row["TYPE"] == "task" and row["CONTENT"]:
            yield _item(row, zone, now)


def _item(row: Row, zone: str, now: datetime) -> Item:
    # A task with an asterisk has no box to tick.
    title, written = row["CONTENT"].removeprefix("* "), " ".join(row["DATE"].split())
    key = short_key("todoist", title, row["DESCRIPTION"], written)
    if not written:
        return Item(title, key, Fate.UNDATED, line=row.line)
    zone = row["TIMEZONE"] if row["TIMEZONE"] in known() else zone
    try:
        values = quick_add.only_time(_as_words(written), zone, now, row["DATE_LANG"])
    except (NotUnderstood, InvalidRule) as error:
        fate = Fate.OVER if getattr(error, "code", "") == "passed" else Fate.UNFIT
        return Item(title, key, fate, note=_named(written, str(error)), line=row.line)
    item = timed(title, row["DESCRIPTION"], key, TimingForm(values, now=now), row.line)
    return replace(item, note=item.note and _named(written, item.note))


def _as_words(written: str) -> str:
    """As quick add understands it: its "every 3rd Friday" may be one of three weeks, its weekend has two days."""
    text = re.sub(r"^ev\b", "every", written, flags=re.IGNORECASE)
    for day, of_month in _NTH_DAYS.items():
        text = re.sub(rf"\A{day}", of_month, text, flags=re.IGNORECASE)
    return re.sub(r"^every weekend\b", "every saturday", text, flags=re.IGNORECASE)


def _named(written: str, problem: str) -> str:
    return problem if written in problem else f"“{written[:60]}”: {problem}"
