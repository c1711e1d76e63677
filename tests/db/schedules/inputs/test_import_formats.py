"""Files as other programs write them: what each entry becomes, and what of it is not understood."""

from __future__ import annotations

from datetime import UTC, datetime, time as clock, timedelta

import pytest

from common.parsing.budget import OverBudget
from people.models import User
from schedules import rules
from schedules.inputs.imports import files
from schedules.inputs.imports.files import Format
from schedules.inputs.imports.items import Fate, Item, plan
from schedules.job_kinds.calendar_events import ReminderTimes

NOW = datetime(2026, 11, 29, 2, tzinfo=UTC)
TIMES = ReminderTimes(before=timedelta(0), uses_alarms=True, all_day_at=clock(9))

TODOIST = """\ufeffTYPE,CONTENT,DESCRIPTION,PRIORITY,INDENT,AUTHOR,RESPONSIBLE,DATE,DATE_LANG,TIMEZONE,\
DURATION,DURATION_UNIT
meta,view_style=list,,,,,,,,,,
section,Home,,,,,,,,,,
task,Water the plants,"The fern, too",4,1,Ada (1234567),,every monday at 9am,en,,,
task,"Book ""flights"" {name}",,3,1,Ada (1234567),,2027-01-22 15:30,en,America/New_York,,
note,By the window,,,,Ada (1234567),,2026-07-10T14:03:22Z,,,,
,,,,,,,,,,,
task,Müll rausbringen,,1,1,Ada (1234567),,jeden Dienstag um 7,de,Europe/Berlin,,
task,Regar,,1,1,Ada (1234567),,ev friday,en,,45,minute
task,Some day,,1,2,Ada (1234567),,,,,,
task,Long ago,,1,1,Ada (1234567),,2020-03-14 17:00,en,,,
task,When it is warm,,1,1,Ada (1234567),,when it is warm,en,,,
task,=HYPERLINK(1),,1,1,Ada (1234567),,every day until 31 December,en,,,
"""

TICKTICK = """\ufeff"Date: 2026-11-28+0000"
"Version: 7.2"
"Status:
0 Normal
1 Completed
2 Archived"
"Folder Name","List Name","Title","Kind","Tags","Content","Is Check list","Start Date","Due Date","Reminder","Repeat",\
"Priority","Status","Created Time","Completed Time","Order","Timezone","Is All Day","Is Floating","Column Name",\
"Column Order","View Mode","taskId","parentId","projectKind"
"","Home","Pay, rent","TEXT","","First line
END:VEVENT","N","","2026-12-01T08:00:00+0000","TRIGGER:-PT15M","RRULE:FREQ=MONTHLY;INTERVAL=1","5","0",\
"2026-06-20T10:00:00+0000","","1","Europe/Berlin","false","false","","","list","1","","TASK"
"","Home","Birthday","TEXT","","","N","","2026-12-23T23:00:00+0000","P0DT9H0M0S","","0","0",\
"2026-06-20T10:00:00+0000","","2","Europe/Berlin","true","false","","","list","2","","TASK"
"","Home","Boots","TEXT","","","N","","2026-12-24T23:00:00+0000","","","0","0","","","3","Europe/Berlin","true","false",\
"","","list","3","","TASK"
"","Home","Done","TEXT","","","N","","2026-12-24T23:00:00+0000","","","0","2","","","4","","true","","","","list","4","",""
"","Home","Note","NOTE","","","N","","","","","0","0","","","5","","","false","","","list","5","","NOTE"
"","Home","By the moon","TEXT","","","N","","2026-12-24T23:00:00+0000","","ERULE:NAME=CUSTOM","0","0","","","6","",\
"true","","","","list","6","","TASK"
"","Home","No day","TEXT","","","N","","soon","","","0","0","","","7","","true","","","","list","7","","TASK"
"""

CRONTAB = r"""# m h  dom mon dow   command
MAILTO="ada@example.org"
0 5 * * 1 tar -zcf /var/backups/home.tgz /home/
@daily /usr/local/bin/tidy {name}
CRON_TZ=America/New_York
30	17 * * mon-fri	date +\%F | mail -s now ada%The body%
@reboot /usr/bin/agent
99 * * * * never
not a job
0 5 * * 1 echo again
"""

SYSTEM = """SHELL=/bin/sh
17 *	* * *	root    cd / && run-parts --report /etc/cron.hourly
25 6	* * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
"""


def read(user: User, text: str | bytes, which: Format | None = None, now: datetime = NOW) -> list[Item]:
    raw = text.encode() if isinstance(text, str) else text
    return files.read(user, raw, which or files.recognise(raw), TIMES, now)


def said(items: list[Item]) -> dict[str, str]:
    """What the new ones become, in words, by their titles."""
    made = [one.values for one in items if one.values]
    return {one["title"]: rules.parse(one["kind"], one["rule"], one["time_zone"]).describe() for one in made}


def left(items: list[Item]) -> dict[int, Fate]:
    return {item.line: item.fate for item in items if item.values is None}


@pytest.mark.parametrize(
    ("text", "which"),
    [
        (TODOIST, Format.TODOIST),
        (TICKTICK, Format.TICKTICK),
        (CRONTAB, Format.CRONTAB),
        (SYSTEM, Format.SYSTEM_CRONTAB),
        ("\r\nbegin:vcalendar\r\n", Format.CALENDAR),
        (TODOIST[1:].encode("utf-16"), Format.TODOIST),
        ("* * * * * tar x\n", Format.CRONTAB),
        ("BEGIN:VCALENDAR\n".encode("utf-16"), Format.CALENDAR),
        ("Warning: none in cal.php on line 3\nBEGIN:VCALENDAR\n", Format.CALENDAR),
    ],
)
def test_a_file_is_recognised_by_what_is_in_it(text: str | bytes, which: Format) -> None:
    assert files.recognise(text.encode() if isinstance(text, str) else text) is which


def test_tasks_of_todoist_are_read_in_their_language_and_zone(ada: User) -> None:
    items = read(ada, TODOIST)
    assert said(items) == {
        "Water the plants": "Every Monday at 09:00, Berlin time",
        'Book "flights" { name }': "Once, on Friday 22 January 2027 at 15:30, New York time",
        "Müll rausbringen": "Every Tuesday at 07:00, Berlin time",
        "Regar": "Every Friday at 09:00, Berlin time",
        "=HYPERLINK(1)": "Every day at 09:00, Berlin time",
    }
    first, *_others, last = [item.values for item in items if item.values]
    assert first["body"] == "The fern, too"
    assert last["ends_at"] == datetime(2026, 12, 31, 23, tzinfo=UTC) - timedelta(minutes=1)
    assert left(items) == {10: Fate.UNDATED, 11: Fate.OVER, 12: Fate.UNFIT}
    assert "“when it is warm”" in items[-2].note


def test_tasks_of_ticktick_keep_their_repetition_alarm_and_day(ada: User) -> None:
    items = read(ada, TICKTICK)
    assert said(items) == {
        "Pay, rent": "On the 1st of every month at 08:45, Berlin time, from 1 December 2026",
        "Birthday": "Once, on Thursday 24 December 2026 at 09:00, Berlin time",
        "Boots": "Once, on Friday 25 December 2026 at 09:00, Berlin time",
    }
    assert items[0].values and items[0].values["body"] == "At 09:00\n\nFirst line\nEND:VEVENT"
    fates = {item.title: item.fate for item in items if item.values is None}
    assert fates == {"Done": Fate.DONE, "Note": Fate.UNDATED, "By the moon": Fate.UNFIT, "No day": Fate.UNFIT}
    assert all(item.line for item in items)


def test_a_whole_day_of_ticktick_stays_one_when_a_spreadsheet_has_saved_it(ada: User) -> None:
    day = "Once, on Thursday 24 December 2026 at 09:00, Berlin time"
    assert said(read(ada, TICKTICK.replace('"true","false"', '"TRUE","FALSE"')))["Birthday"] == day


def test_jobs_of_a_cron_table_have_their_zone_and_their_command(ada: User) -> None:
    items = read(ada, CRONTAB)
    assert {title: words.partition(" (cron")[0] for title, words in said(items).items()} == {
        "tar -zcf /var/backups/home.tgz /home/": "At 05:00 on Monday, Berlin time",
        "/usr/local/bin/tidy { name }": "At 00:00 every day, Berlin time",
        "date +%F | mail -s now ada": "At 17:30 on Monday through Friday, New York time",
        "echo again": "At 05:00 on Monday, New York time",
    }
    assert left(items) == {7: Fate.UNFIT, 8: Fate.UNFIT, 9: Fate.UNFIT}


def test_a_table_with_users_leaves_them_out_and_can_be_read_either_way(ada: User) -> None:
    assert next(iter(said(read(ada, SYSTEM)))) == "cd / && run-parts --report /etc/cron.hourly"
    assert next(iter(said(read(ada, SYSTEM, Format.CRONTAB)))).startswith("root cd /")


def test_the_same_entry_of_a_later_file_has_the_same_key(ada: User) -> None:
    for text in (TODOIST, TICKTICK, CRONTAB):
        keys = {item.title: item.key for item in read(ada, text) if item.values}
        later = {item.title: item.key for item in read(ada, "\n".join(text.splitlines()), now=NOW + timedelta(hours=1))}
        assert keys.items() <= later.items()
    twice = plan(ada, read(ada, "@daily tidy\n@daily tidy\n@daily  tidy\n"))
    assert [item.fate for item in twice] == [Fate.NEW, Fate.TWICE, Fate.TWICE]


@pytest.mark.parametrize("text", [TODOIST, TICKTICK, CRONTAB])
def test_a_file_that_costs_too_much_is_refused(ada: User, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_SECONDS", 0)
    with pytest.raises(OverBudget):
        read(ada, text)


def test_a_table_that_a_spreadsheet_has_saved_is_read(ada: User) -> None:
    rows = TODOIST.splitlines()
    small = "\r\n".join([rows[0].replace(",", ";"), "task;Müll;;1;1;Ada;;every day;en;;;"])
    for mark, charset in (";", "utf-8"), (";", "cp1252"), ("\t", "utf-16"):
        raw = small.replace(";", mark).lstrip("\ufeff").encode(charset)
        assert files.recognise(raw) is Format.TODOIST
        assert said(read(ada, raw)) == {"Müll": "Every day at 09:00, Berlin time"}


@pytest.mark.parametrize(
    ("date", "language", "words"),
    [
        ("every 3rd friday at 8pm", "en", "On the third Friday of every month at 20:00, Berlin time"),
        ("Ev 2nd Wed", "en", "On the second Wednesday of every month at 09:00, Berlin time"),
        ("every 2nd month", "en", "On the "),
        ("every weekend", "en", "Every Saturday at 09:00, Berlin time"),
        ("jeden 3. Freitag", "de", "On the third Friday of every month at 09:00, Berlin time"),
        ("cada último viernes", "es", "On the last Friday of every month at 09:00, Berlin time"),
    ],
)
def test_a_date_of_todoist_means_what_todoist_says(ada: User, date: str, language: str, words: str) -> None:
    head = TODOIST.splitlines()[0].lstrip("\ufeff")
    assert said(read(ada, f"{head}\ntask,Title,,1,1,Ada,,{date},{language},,,\n"))["Title"].startswith(words)


def test_a_job_with_seconds_in_front_is_no_job_at_another_time(ada: User) -> None:
    items = read(ada, "0 5 * * * /bin/a\n0 */5 * * * * /bin/b\n0 0 12 * * ? c\n0 0 9 * * MON-FRI d\n")
    assert list(said(items)) == ["/bin/a"]
    assert left(items) == {2: Fate.UNFIT, 3: Fate.UNFIT, 4: Fate.UNFIT}


def test_a_tab_may_stand_behind_the_user_of_a_system_table(ada: User) -> None:
    assert list(said(read(ada, SYSTEM)))[1].startswith("test -x /usr/sbin/anacron")


@pytest.mark.parametrize("charset", ["utf-8", "cp1252", "utf-16", "folded"])
def test_a_calendar_that_its_preview_sends_back_has_the_same_titles(ada: User, charset: str) -> None:
    text = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Café für Ann\r\nDTSTART:20270105T090000Z\r\n"
    text += "END:VEVENT\r\nEND:VCALENDAR\r\n"
    raw = text.encode().replace(b"\xc3\xa9", b"\xc3\r\n \xa9") if charset == "folded" else text.encode(charset)
    assert (
        list(said(read(ada, files.shown(raw, files.recognise(raw))))) == list(said(read(ada, raw))) == ["Café für Ann"]
    )
