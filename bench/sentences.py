"""`script/bench sentences DIR`: what quick add makes of the sentences that other projects test their readers with.

DIR has checkouts named Recognizers-Text (its Specs), duckling and chrono; nothing of them is part of this project.
Each sentence is read at the reference time of its test. *Wrong*: a time is taken that is not the one of the test;
a question back counts as refused. *Open* are sentences that are refused although the test gives a time to come.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django
from django.conf import settings

settings.configure(USE_TZ=True)
django.setup()

from schedules.inputs.sentences import NotUnderstood, read  # noqa: E402 - once there are settings
from schedules.rules import InvalidRule, civil  # noqa: E402
from schedules.rules.repetition import Repetition  # noqa: E402

LANGUAGES = {"English": "en", "German": "de", "Spanish": "es"}
# duckling's tests are at this time, two hours behind UTC.
DUCKLING_NOW = datetime(2013, 2, 12, 4, 30)  # noqa: DTZ001 - civil
DUCKLING_ZONE = "Etc/GMT+2"
_DAY = timedelta(days=1)
_CLOCK = re.compile(r"(?i)\d\s*(?::|uhr|h\b|am|pm|[ap]\.m)|\b(?:at|um|las) \d")


@dataclass(frozen=True)
class Value:
    """A time of a test: `text` is ISO, of a day, a time of day, or both. `timex` is that of a repetition."""

    text: str = ""
    end: str = ""
    timex: str = ""


@dataclass(frozen=True)
class Case:
    corpus: str
    language: str
    now: datetime
    line: str
    # Each is as good as the others; none: no time, or one that is over.
    values: list[Value] = field(default_factory=list)
    zone: str = "UTC"


def recognizers(folder: Path) -> Iterator[Case]:
    for name, language in LANGUAGES.items():
        for path in sorted((folder / "Specs/DateTime" / name).glob("*.json")):
            if re.search("Extractor|Duration|TimeZone", path.name):
                continue  # no times
            for spec in json.loads(path.read_text(encoding="utf-8-sig")):
                if not (reference := (spec.get("Context") or {}).get("ReferenceDateTime")):
                    continue
                found = [_recognized(result) for result in spec.get("Results", [])]
                if None in found or len(found) > 1:
                    continue  # no times, or several
                values = found[0] if found and found[0] else []
                yield Case("Recognizers-Text", language, datetime.fromisoformat(reference[:19]), spec["Input"], values)


def _recognized(result: dict[str, Any]) -> list[Value] | None:
    """The times of a result; none of a length or a zone, None if the specification does not say them."""
    value = result.get("Resolution") or result.get("Value") or {}
    if "values" in value:
        found = [_resolved(one) for one in value["values"] if one["type"] not in ("duration", "timezone")]
        return found or None  # a length, as in "in two weeks"
    if "FutureResolution" not in value:
        return None
    both = [value.get(key) or {} for key in ("FutureResolution", "PastResolution")]
    if "set" in both[0]:
        return [Value(timex=value["Timex"])]
    firsts, lasts = (
        ("date", "time", "dateTime", "startDate", "startTime", "startDateTime"),
        ("endDate", "endTime", "endDateTime"),
    )
    found = [Value(*(next((one[key] for key in keys if key in one), "") for keys in (firsts, lasts))) for one in both]
    return [one for one in found if one.text]


def _resolved(one: dict[str, str]) -> Value:
    if one["type"] == "set":
        return Value(timex=one.get("timex", ""))
    texts = [one[key] for key in ("value", "start", "end") if key in one and one[key] != "not resolved"]
    return Value(*texts[:2])


def duckling(folder: Path) -> Iterator[Case]:
    for language in LANGUAGES.values():
        text = (folder / "Duckling/Time" / language.upper() / "Corpus.hs").read_text(encoding="utf-8")
        for part in re.split(r"\bexamples\b", text)[1:]:
            if "latentCorpus" in part[:200]:
                continue
            if not (found := re.match(r"\s*(?:\((datetime\w*) ([^\[]*)|=)\s*\[(.*?)\]", part, re.DOTALL)):
                continue
            times = re.findall(r"\(\s*(\d+),\s*(\d+),\s*(\d+),\s*(\d+),\s*(\d+),\s*(\d+)\)", found[2] or "")
            grain = re.search(r"\b(Second|Minute|Hour|Day|Week|Month|Quarter|Year)\b", found[2] or "")
            is_day = grain is not None and grain[0] not in ("Second", "Minute", "Hour")
            stamps = [one.isoformat(" ") for one in map(_civil, times) if one is not None]
            stamps = [stamp[:10] if is_day else stamp for stamp in stamps]
            grain_days = {"Week": 7, "Month": 28, "Quarter": 90, "Year": 365}.get(grain[0] if grain else "", 0)
            if grain_days and len(stamps) == 1:
                stamps.append((datetime.fromisoformat(stamps[0]) + timedelta(days=grain_days)).isoformat(" ")[:10])
            values = [] if not stamps or "Before" in found[2] else [Value(stamps[0], *stamps[1:2])]
            for line in re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"--.*", "", found[3])):
                line = re.sub(r"\\(\d+)", lambda code: chr(int(code[1])), line).replace('\\"', '"')
                yield Case("duckling", language, DUCKLING_NOW, line, values, DUCKLING_ZONE)


def _civil(numbers: tuple[str, ...]) -> datetime | None:
    try:
        year, month, day, hour, minute, second = map(int, numbers)
        return datetime(year, month or 1, day or 1, hour, minute, second)  # noqa: DTZ001
    except ValueError:
        return None


def chrono(folder: Path) -> Iterator[Case]:
    start = re.compile(
        r"test(SingleCase|UnexpectedResult)\(\s*chrono[\w.]*,\s*([\"'`])(.*?)\2"
        r"(?:,\s*(?:new Date\(([^)]*)\)|\"([^\"]*)\"))?(.*?)(?=\btest(?:SingleCase|UnexpectedResult)?\(|\Z)",
        re.DOTALL,
    )
    for language in LANGUAGES.values():
        for path in sorted((folder / "test" / language).glob("*.ts")):
            for kind, _quote, line, reference, _text, body in start.findall(path.read_text(encoding="utf-8")):
                if (now := _javascript(reference)) is None:
                    continue
                if kind == "UnexpectedResult":
                    yield Case("chrono", language, now, line)
                elif (value := _expected(body, now, line)) is not None:
                    yield Case("chrono", language, now, line, [value])


def _javascript(text: str) -> datetime | None:
    if numbers := re.fullmatch(r"[\d,\s-]+", text or ""):
        # A month may be written as "4 - 1".
        terms = [
            [int(term) for term in re.findall(r"\d+", one)] for one in numbers[0].split(",") if re.search(r"\d", one)
        ]
        if len(terms) < 2:
            return None
        year, month, *rest = (first - sum(less) for first, *less in terms)
        first = datetime(year + (month // 12), month % 12 + 1, 1)  # noqa: DTZ001
        day, hour, minute, second = [*rest, *(1, 0, 0, 0)[len(rest) :]][:4]
        return first + timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    try:
        return datetime.fromisoformat(text.strip("\"' ").replace("Z", "")[:19])
    except ValueError:
        return None


def _expected(body: str, now: datetime, line: str) -> Value | None:
    said = dict(re.findall(r"start\.get\([\"'](\w+)[\"']\)\)\.toBe\((-?\d+)\)", body))
    dates = re.findall(r"(start|end|date)(?:\(\))?\)\.toBeDate\((?:new Date\(([^)]*)\))", body)
    starts = [found for name, text in dates if name in ("start", "date") and (found := _javascript(text))]
    if re.search(r"timezoneOffset\"\)\)\.toBe\(-?\d+\)", body):
        return None  # in the zone of the machine that tests it
    at = starts[0] if starts else None
    if at is None and {"year", "month", "day"} <= said.keys():
        at = datetime(int(said["year"]), int(said["month"]), int(said["day"]), int(said.get("hour", 12)), int(said.get("minute", 0)))  # noqa: DTZ001, E501  # fmt: skip
    if at is None:
        return None
    is_implied = at.time() == now.time() or (at.hour, at.minute) == (12, 0) or (at.hour, at.minute) == (0, 0)
    is_day = is_implied and not re.search(
        r"noon|(?<!\d)12 ?(?:[ap]m|h|uhr)|midn|mittag|mitternacht|medio|:|\dh|uhr", line, re.IGNORECASE
    )
    if whole := re.search(r"(?i)^(?:next|kommendes?) (?:(week|woche)|(year|jahr)|quarter|qtr)$", line):
        # chrono gives the same day of it; each is as good.
        first = at - timedelta(days=at.weekday()) if whole[1] else at.replace(month=1, day=1)
        if not (whole[1] or whole[2]):
            first = at.replace(month=(at.month - 1) // 3 * 3 + 1, day=1)
        last = first + timedelta(days=6 if whole[1] else 365 if whole[2] else 89)
        return Value(first.isoformat(" ")[:10], last.isoformat(" ")[:10])
    return Value(at.isoformat(" ")[: 10 if is_day else 19])


def verdict(case: Case) -> tuple[str, str]:
    """ "right", "wrong", "refused" (no time to come in the test) or "open", with what was read."""
    instant = civil.first_instant(civil.zone(case.zone), case.now)
    values = [one for value in case.values if (one := _to_come(value, case.now)) is not None]
    again: list[Value] = []
    if not values and not re.search(r"(?:19|20)\d\d|ago|last|letzt|vor|hace|pasad", case.line):
        again = [Value(_again(value, case.now)) for value in case.values if len(value.text) >= 10]
    try:
        found = read(case.line, instant, case.zone, case.language)
    except (NotUnderstood, InvalidRule) as error:
        return ("open" if values else "refused"), str(error)
    if not isinstance(found.timing, datetime):
        shown = str(found.timing)
        return (
            "right" if any(value.timex and _repeats(value.timex, found.timing) for value in values) else "wrong"
        ), shown
    at = civil.local(civil.zone(case.zone), civil.first_instant(civil.zone(found.zone), found.timing))
    is_right = any(_is_same(at, value, case) for value in values or again)
    return ("right" if is_right else "wrong"), f"{found.sentence.title} {at}"


def _to_come(value: Value, now: datetime) -> Value | None:
    """The value, if it is not over."""
    if value.timex or len(value.text) < 10:
        return value if value.timex or value.text else None
    try:
        last = datetime.fromisoformat(value.text)
    except ValueError:
        return None
    if len(value.end) >= 10:
        last = max(last, datetime.fromisoformat(value.end))
    return None if (last + _DAY if len(value.text) == 10 else last) <= now else value


def _again(value: Value, now: datetime) -> str:
    """A time that is over and named no year comes again: the next day, week or year."""
    at = datetime.fromisoformat(value.text)
    for step in (1, 7):
        if at <= now < at + timedelta(days=step) and (step == 1) == (len(value.text) > 10):
            return (at + timedelta(days=step)).isoformat(" ")[: len(value.text)]
    return f"{now.year + (at.replace(year=now.year) < now)}{value.text[4:]}" if value.text[5:10] != "02-29" else ""


def _is_same(at: datetime, value: Value, case: Case) -> bool:
    if value.timex or not value.text:
        return False
    texts = {8: at.isoformat()[11:19], 10: at.date().isoformat()}
    text = texts.get(len(value.text), at.isoformat(" ")[:19])
    if text in (value.text, value.end) or (
        value.end and _CLOCK.search(case.line) is None and value.text <= text <= value.end
    ):
        return True  # in a part of the day, or in a month: the projects begin those differently
    if (
        text[:10] == value.text[:10]
        and "DD" not in value.text
        and re.search(
            r"\b(?:in|en|dentro|hence|now|later|tonight|evening|morning|noche|tarde|mañana|abend|nacht)\b",
            case.line,
            re.IGNORECASE,
        )
        and not _CLOCK.search(case.line)
    ):
        return True  # "in 7 days", at the hour of now or in the morning
    has_zone = re.search(r"(?i)time|[+-]\d|\b[a-z]{2,4}t\b|gmt|utc", case.line) is not None
    return has_zone and len(value.text) != 10 and text[-5:] == value.text[-5:]


def _repeats(timex: str, timing: Any) -> bool:
    if isinstance(timing, tuple):
        return timex == f"PT{timing[0]}{timing[1][0].upper()}"
    if not isinstance(timing, Repetition):
        return False
    at = timing.time.isoformat()
    clock = re.search(r"T(\d\d)(?::(\d\d))?$", timex)
    if clock is not None and at[:5] != f"{clock[1]}:{clock[2] or '00'}":
        return False
    if day := re.search(r"WXX-(\d)", timex):
        return timing.frequency == "WEEKLY" and int(day[1]) - 1 in timing.days
    if date := re.fullmatch(r"XXXX-XX-(\d\d)", timex):
        return (timing.frequency, timing.day) == ("MONTHLY", int(date[1]))
    if timex == "XXXX-WXX-WE":
        return timing.days == (5, 6)
    if date := re.fullmatch(r"XXXX-(\d\d)-(\d\d).*", timex):
        return (timing.month, timing.day) == (int(date[1]), int(date[2]))
    if weekend := re.fullmatch(r"P(\d)(WE|WD)", timex):
        return (timing.interval, timing.days) == (int(weekend[1]), (5, 6) if weekend[2] == "WE" else (0, 1, 2, 3, 4))
    timex = timex.replace("P0.5Y", "P6M")
    if step := re.fullmatch(r"P(\d+)([DWMY])", timex):
        units = {"D": "DAILY", "W": "WEEKLY", "M": "MONTHLY", "Y": "YEARLY"}
        return (timing.interval, timing.frequency) == (int(step[1]), units[step[2]])
    return timing.frequency == "DAILY"


def main() -> None:
    options = argparse.ArgumentParser(prog="bench sentences", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--list", nargs="*", default=["wrong"], choices=["wrong", "open", "right", "refused"])
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    readers = {"Recognizers-Text": recognizers, "duckling": duckling, "chrono": chrono}
    seen: set[tuple[str, str, datetime, str]] = set()
    for name, reader in readers.items():
        for case in reader(chosen.folder / name):
            if (key := (name, case.language, case.now, case.line)) in seen:
                continue
            seen.add(key)
            found, what = verdict(case)
            counts[name, case.language][found] += 1
            counts[name, case.language][f"{found} exactly"] += not any(one.end for one in case.values)
            if found in chosen.list:
                wanted = " | ".join(one.timex or one.text for one in case.values)
                print(f"{found}\t{name}\t{case.language}\t{case.now:%a %Y-%m-%d %H:%M}\t{case.line}\t{what}\t{wanted}")
    _report(counts, chosen.json)


def _report(counts: dict[tuple[str, str], collections.Counter[str]], as_json: bool) -> None:
    total: collections.Counter[str] = collections.Counter()
    for (name, language), of in counts.items():
        total += of
        print(f"{name:18}{language}  {_line(of)}")
    print(f"{'all':20}  {_line(total)}")
    if as_json:
        found = {f"{name} {language}": dict(of) for (name, language), of in counts.items()}
        print(json.dumps({"bench": "sentences", "at": datetime.now(UTC).isoformat(), "ours": found}))


def _line(of: collections.Counter[str]) -> str:
    with_time, exactly = of["right"] + of["open"], of["right exactly"] + of["open exactly"]
    sentences = sum(of[one] for one in ("right", "open", "refused", "wrong"))
    return (
        f"{sentences:5}: {of['right']} right, {of['refused'] + of['open']} refused, {of['wrong']} wrong "
        f"({of['wrong'] / max(sentences, 1):.1%}), of {with_time} with a time {of['right'] / max(with_time, 1):.0%}, "
        f"of {exactly} with one point in time {of['right exactly'] / max(exactly, 1):.0%}"
    )


if __name__ == "__main__":
    main()
