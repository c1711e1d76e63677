"""Inputs for a reminder, as they are in a body of the API; `test_same_as_form` gives them to the form too.

Channels are named: inbox, hook, unverified, removed.
"""

from __future__ import annotations

from typing import Any

START = "DTSTART:20260105T090000\n"
LONG_LIST = [f"2027-01-{1 + day % 28:02}" for day in range(28)]


def daily(time: Any) -> dict[str, Any]:
    return {"timing": {"daily": {"time": time}}}


def weekly(*days: int, time: str = "09:00") -> dict[str, Any]:
    return {"timing": {"weekly": {"days": list(days), "time": time}}}


def monthly(day: Any, short: str = "last", time: str = "09:00") -> dict[str, Any]:
    return {"timing": {"monthly": {"day": day, "short": short, "time": time}}}


def interval(every: int, unit: str = "hours", anchor: str = "2026-06-01T00:00") -> dict[str, Any]:
    return {"timing": {"interval": {"every": every, "unit": unit, "anchor": anchor}}}


def once(at: str) -> dict[str, Any]:
    return {"timing": {"once": {"at": at}}}


def cron(expression: str) -> dict[str, Any]:
    return {"timing": {"cron": {"expression": expression}}}


def rrule(rule: str, start: str = START) -> dict[str, Any]:
    return {"timing": {"rrule": {"rule": start + rule}}}


TAKEN: list[dict[str, Any]] = [
    {},
    *[
        {"title": title}
        for title in ("T", "  padded  ", "x" * 200, "{name} {schedule} {slot}", "Ümläut ☂", "{{", "}", "{0}")
    ],
    *[
        {"body": body}
        for body in (
            "",
            "one\ntwo",
            "one\r\ntwo",
            "x" * 10_000,
            "{date} at {time}",
            "<b>&</b>",
            "{ name}",
            "{slot!r}",
            "{slot:%Y}",
        )
    ],
    *[daily(time) for time in ("00:00", "23:59", "9:05", " 09:00 ")],
    *[weekly(*days) for days in ((0,), (6,), (0, 1, 2, 3, 4, 5, 6), (3, 0), (2, 2))],
    *[monthly(day) for day in (1, 28, 29, 31, "last")],
    monthly(31, "skip"),
    monthly(31, "last", "00:00"),
    *[interval(1, unit) for unit in ("minutes", "hours", "days")],
    interval(3650, "days"),
    interval(5_256_000, "minutes"),
    interval(1, "days", "1900-01-02T00:00"),
    interval(2, "days", "9998-12-30T00:00"),
    interval(6, "hours", "2026-10-25T02:30"),
    *[once(at) for at in ("2026-06-01T14:01", "2999-12-31T23:59", "2026-07-01 09:00", "2026-07-01T09:00:30.5")],
    once("2027-03-28T02:30"),
    *[
        cron(expression)
        for expression in (
            "* * * * *",
            "*/5 * * * *",
            "0 9 * * mon-fri",
            "0 9 1 * *",
            "0 9 L * *",
            "0 9 * * 5#2",
            "  0   9 * * * ",
            "@daily",
            "@yearly",
            "0 0 29 2 *",
            "0,30 8-18/2 * jan,jul *",
            "0 9 * * 7",
        )
    ],
    *[
        rrule(rule)
        for rule in (
            "RRULE:FREQ=DAILY",
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH",
            "RRULE:FREQ=MONTHLY;BYDAY=-1FR",
            "RRULE:FREQ=DAILY;COUNT=1000",
            "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
            "RRULE:FREQ=DAILY\nEXDATE:20270105T090000",
            "RRULE:FREQ=HOURLY;BYHOUR=8,12",
            "FREQ=DAILY",
        )
    ],
    *[rrule(rule, start="") for rule in ("RRULE:FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO", "freq=daily;byhour=18", "@daily")],
    *[{"time_zone": zone} for zone in ("UTC", "Asia/Kathmandu", "America/New_York", "Asia/Calcutta", "Etc/GMT+5")],
    {"starts_at": "2026-07-01T00:00"},
    {"ends_at": "2026-07-01T00:00"},
    {"starts_at": "2026-07-01T00:00", "ends_at": "2026-07-31T00:00"},
    {"starts_at": "2020-01-01T00:00"},
    {"excluded": ["2026-12-25"]},
    {"excluded": ["2027-01-01", "2026-12-25", "2026-12-25"]},
    {"excluded": LONG_LIST},
    *[{"max_count": count} for count in (1, 10, 1_000_000)],
    *[{"misfire": policy} for policy in ("latest", "all", "skip")],
    *[{"grace": grace} for grace in (0, 60, 604_800)],
    *[{"spread": spread} for spread in (0, 1, 86_400)],
    *[{"stale_after": stale} for stale in (1, 3_600, 2_592_000)],
    {"spread": 10, "stale_after": 11},
    *[{"category": category} for category in ("plants", "House-Plants_2", "x" * 50)],
    *[{"urgent": urgent} for urgent in (True, False)],
    {"channel_ids": ["inbox", "hook"]},
    {"channel_ids": ["hook", "inbox"], "in_order": True},
    {"channel_ids": ["hook", "inbox"], "in_order": True, "escalate_after": 5},
    {"channel_ids": ["inbox", "hook"], "in_order": True, "escalate_after": 10_080},
    {"after_done": True},
    {"nag_every": 1, "nag_times": 50},
    {"nag_every": 1_440, "nag_channel_ids": ["hook"]},
    {"nag_times": 3},
    {"early": [10, 600, 10]},
    {"early": [1, 2, 3, 4, 1_380]},
]

REFUSED: list[tuple[str, dict[str, Any]]] = [
    *[("title", {"title": title}) for title in ("", "   ", "x" * 201, "{nobody}", "{schedule.__class__}")],
    *[("body", {"body": body}) for body in ("x" * 10_001, "{Name}", "{nobody} {nothing}")],
    *[
        ("timing.daily.time", daily(time))
        for time in ("", "24:00", "09:60", "9", "0900", "09:00Z", "09:00+02:00", "noon", "٠٩:٠٠", "-1:00", "09:00:00")
    ],
    ("timing.weekly.days", weekly()),
    ("timing.weekly.days", weekly(7)),
    ("timing.weekly.days", weekly(-1)),
    ("timing.weekly.days", weekly(0, 8)),
    ("timing.weekly.time", weekly(0, time="25:00")),
    *[("timing.monthly.day", monthly(day)) for day in (0, 32, -1, 999)],
    ("timing.monthly.time", monthly(1, time="")),
    *[("timing.interval.every", interval(every)) for every in (0, -5, 87_601, 9_999_999_999)],
    ("timing.interval.every", interval(5_256_001, "minutes")),
    ("timing.interval.every", interval(3_651, "days")),
    *[
        ("timing.interval.anchor", interval(1, "hours", anchor))
        for anchor in (
            "tomorrow",
            "2026-06-01T00:00Z",
            "2026-06-01T00:00+02:00",
            "9999-12-31T23:59",
            "1899-12-31T00:00",
        )
    ],
    *[
        ("timing.once.at", once(at))
        for at in (
            "",
            "now",
            "2026-06-01T14:00",
            "2020-01-01T00:00",
            "2026-07-01",
            "2026-07-01T09:00Z",
            "2026-07-01T09:00+02:00",
            "2026-02-30T09:00",
            "2026-13-01T09:00",
            "9999-12-31T23:59",
            "10000-01-01T00:00",
            "0000-00-00T00:00",
        )
    ],
    *[
        ("timing.cron.expression", cron(expression))
        for expression in (
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "0 24 * * *",
            "0 0 31 2 *",
            "0 0 30 2,feb *",
            "0 9 * * mon-",
            "*/0 * * * *",
            "a b c d e",
            "@hourlyish",
            "@reboot",
            "0 9 0 * *",
            "x" * 201,
        )
    ],
    *[
        ("timing.rrule.rule", rrule(rule))
        for rule in (
            "",
            "RRULE:FREQ=SECONDLY",
            "RRULE:FREQ=SOMETIMES",
            "RRULE:INTERVAL=2",
            "RRULE:FREQ=DAILY;COUNT=0",
            "RRULE:FREQ=DAILY;COUNT=999999999999",
            "RRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30",
            "RRULE:FREQ=YEARLY;INTERVAL=999999",
            "RRULE:FREQ=DAILY;UNTIL=20200101T000000",
            "RRULE:FREQ=DAILY;BYDAY=XX",
            "RRULE:FREQ=DAILY\n" * 11,
            "EXDATE:20260105T090000\n" * 400,
        )
    ],
    ("timing.rrule.rule", rrule("RRULE:FREQ=DAILY", start="DTSTART:99991231T235900\n")),
    *[
        ("time_zone", {"time_zone": zone})
        for zone in ("", " ", "Mars/Base", "America/Berlin", "localtime", "../../etc/passwd", "+02:00", "europe/berlin")
    ],
    ("starts_at", {"starts_at": "2026-07-01T00:00Z"}),
    ("starts_at", {"starts_at": "9999-06-01T00:00"}),
    ("starts_at", {"starts_at": "soon"}),
    ("ends_at", {"ends_at": "2026-07-01"}),
    ("ends_at", {"ends_at": "12026-06-01T00:00"}),
    ("ends_at", {"ends_at": "2020-01-01T00:00"}),
    ("ends_at", {"starts_at": "2999-06-02T00:00", "ends_at": "2999-06-01T00:00"}),
    ("ends_at", {"ends_at": "2026-06-01T14:30"}),
    *[
        ("excluded", {"excluded": [day]})
        for day in ("0226-12-25", "9999-12-31", "25.12.2026", "2026-02-30", "2026-12-25T00:00", "x" * 7_000)
    ],
    ("excluded", once("2026-07-01T09:00") | {"excluded": ["2026-07-01"]}),
    *[("max_count", {"max_count": count}) for count in (0, -1, 1_000_001, 10**18)],
    ("after_done", once("2026-07-01T09:00") | {"after_done": True}),
    *[("misfire", {"misfire": policy}) for policy in ("never", "LATEST", "' OR 1=1")],
    *[("grace", {"grace": grace}) for grace in (-1, 604_801)],
    *[("spread", {"spread": spread}) for spread in (-1, 86_401)],
    *[("stale_after", {"stale_after": stale}) for stale in (0, -1, 2_592_001)],
    ("stale_after", {"spread": 60, "stale_after": 60}),
    *[("category", {"category": word}) for word in ("two words", "x" * 51, "ümlaut", "a/b", "<b>")],
    ("channel_ids", {"channel_ids": []}),
    ("channel_ids", {"channel_ids": ["nonsense"]}),
    ("channel_ids", {"channel_ids": ["inbox", "01890a5d-ac96-774b-bcce-b302099a8057"]}),
    ("channel_ids", {"channel_ids": ["removed"]}),
    ("channel_ids", {"channel_ids": ["unverified"]}),
    ("in_order", {"channel_ids": ["inbox"], "in_order": True}),
    *[
        ("escalate_after", {"channel_ids": ["hook", "inbox"], "in_order": True, "escalate_after": wait})
        for wait in (0, -1, 10_081)
    ],
    ("escalate_after", {"escalate_after": 5}),
    *[("nag_every", {"nag_every": minutes}) for minutes in (0, -1, 1_441)],
    *[("nag_times", {"nag_every": 5, "nag_times": times}) for times in (0, -1, 51)],
    ("nag_channel_ids", {"nag_every": 5, "nag_channel_ids": ["removed"]}),
    *[("early", {"early": minutes}) for minutes in ([0], [1, 2, 3, 4, 5, 6], [1_440])],
]

# The friendly timings, and what a person types for the same.
FRIENDLY: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"intervalMinutes": 30}, {"kind": "interval", "every": "30", "unit": "minutes"}),
    ({"intervalMinutes": 1}, {"kind": "interval", "every": "1", "unit": "minutes"}),
    ({"dailyTime": {"hour": 14, "minute": 0}}, {"kind": "daily", "time": "14:00"}),
    ({"dailyTime": {"hour": 0, "minute": 5}}, {"kind": "daily", "time": "00:05"}),
    *[
        (
            {"weeklyTime": {"dayOfWeek": day, "hour": 9, "minute": 0}},
            {"kind": "weekly", "days": [str(number)], "time": "09:00"},
        )
        for day, number in ((0, 6), (1, 0), (6, 5))
    ],
    (
        {"monthlyTime": {"day": 31, "hour": 9, "minute": 0}},
        {"kind": "monthly", "day": "31", "time": "09:00", "short": "last"},
    ),
    ({"onceAt": "2026-07-01T07:00:00Z"}, {"kind": "once", "at": "2026-07-01T09:00"}),
    ({"onceAt": "2026-07-01T09:00:00+02:00"}, {"kind": "once", "at": "2026-07-01T09:00"}),
]

# Values that the form cannot send, as it has a picker for them; the API refuses them by its schema.
FRIENDLY_REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("timing.intervalMinutes", {"intervalMinutes": 0}),
    ("timing.intervalMinutes", {"intervalMinutes": 5_256_001}),
    ("timing.intervalMinutes", {"intervalMinutes": "30"}),
    ("timing.intervalMinutes", {"intervalMinutes": 30.0}),
    ("timing.intervalMinutes", {"intervalMinutes": True}),
    ("timing.intervalMinutes", {"intervalMinutes": None}),
    ("timing.dailyTime.hour", {"dailyTime": {"hour": 24, "minute": 0}}),
    ("timing.dailyTime.minute", {"dailyTime": {"hour": 0, "minute": 60}}),
    ("timing.dailyTime.minute", {"dailyTime": {"hour": 9}}),
    ("timing.dailyTime.second", {"dailyTime": {"hour": 9, "minute": 0, "second": 0}}),
    ("timing.dailyTime", {"dailyTime": "09:00"}),
    ("timing.weeklyTime.dayOfWeek", {"weeklyTime": {"dayOfWeek": 7, "hour": 9, "minute": 0}}),
    ("timing.monthlyTime.day", {"monthlyTime": {"day": 0, "hour": 9, "minute": 0}}),
    ("timing.onceAt", {"onceAt": "2026-07-01T09:00:00"}),
    ("timing.onceAt", {"onceAt": "2020-01-01T00:00:00Z"}),
    ("timing.onceAt", {"onceAt": "9999-12-31T23:59:59Z"}),
    ("timing.onceAt", {"onceAt": 1780000000}),
    ("timing.onceAt", {"onceAt": "2026-10-25T01:30:00Z"}),  # the second 02:30 of that night in Berlin
    ("timing.yearly", {"yearly": {"day": 1}}),
    ("timing", {}),
]
