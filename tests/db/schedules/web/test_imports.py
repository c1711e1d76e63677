"""A calendar file becomes reminders: shown first, imported once, and removed again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from people.models import User
from schedules.inputs.imports.items import LARGEST, MOST
from schedules.models import Schedule
from tests.make import make_channel, make_user, signed_in

PATH = "/reminders/import/"


def event(uid: str, *lines: str, start: str = "DTSTART;TZID=Europe/Berlin:20900105T090000") -> str:
    return "\r\n".join(["BEGIN:VEVENT", f"UID:{uid}", start, f"SUMMARY:Event {uid}", *lines, "END:VEVENT"])


def file(*events: str) -> bytes:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *events, "END:VCALENDAR"]).encode()


def shown(client: Client, content: bytes) -> HttpResponse:
    return client.post(PATH, {"file": SimpleUploadedFile("calendar.ics", content)})


def sent(page: HttpResponse, content: bytes, channels: list[Any], **fields: Any) -> dict[str, Any]:
    """The form of the preview, as a browser would send it."""
    keys = re.findall(r'name="take" value="(\w+)"', page.content.decode())
    form = {"content": content.decode(), "minutes": 10, "alarms": "on", "all_day_at": "09:00", "take": keys}
    return form | {"channels": [str(channel.id) for channel in channels]} | fields


MIXED = file(
    event("dentist"),
    event("weekly", "RRULE:FREQ=WEEKLY;BYDAY=MO"),
    event("birthday", start="DTSTART;VALUE=DATE:20900301"),
    event("over", start="DTSTART:20200105T090000Z"),
    event("off", "STATUS:CANCELLED"),
    event("often", "RRULE:FREQ=SECONDLY"),
    event("where", start="DTSTART;TZID=Mars/Olympus:20900105T090000"),
    event("dentist"),
)


def test_each_event_says_what_becomes_of_it_and_nothing_is_saved(browser: Client, ada: User) -> None:
    make_channel(ada)
    page = shown(browser, MIXED).content.decode()
    assert page.count('name="take"') == 3
    assert "Import 3 reminders" in page and "5 entries are left out" in page
    assert '<a href="#left-out">5 entries are not taken</a>: 1 ×' in page
    assert "1 × Its time zone “Mars/Olympus” is not known (“Event where”)" in page
    for said in (
        "Every Monday",
        "It is over.",
        "It is cancelled.",
        "FREQ=SECONDLY",
        "zone “Mars/Olympus” is not known",
        "twice",
    ):
        assert said in page, said
    assert not Schedule.objects.exists()


def test_what_is_chosen_is_imported_and_can_be_removed_again(browser: Client, ada: User) -> None:
    inbox, mail = make_channel(ada), make_channel(ada, "email")
    form = sent(shown(browser, MIXED), MIXED, [inbox, mail], urgent="on")
    done = browser.post(PATH, form | {"take": form["take"][:2]})
    made = list(Schedule.objects.order_by("title"))
    assert len(made) == 2 and {one.kind for one in made} <= {"once", "rrule"}
    assert all(one.urgent and one.user_id == ada.pk and one.channels.count() == 2 for one in made)
    page = browser.get(done["Location"]).content.decode()
    assert "2 reminders are imported" in page and "Remove these 2 again" in page
    browser.post(done["Location"])
    assert not Schedule.objects.for_user(ada).exists()
    assert "Nothing of this import is left" in browser.get(done["Location"]).content.decode()


def test_importing_twice_makes_none_twice_and_what_was_removed_comes_back(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    form = sent(shown(browser, MIXED), MIXED, [inbox])
    done = browser.post(PATH, form)["Location"]
    again = browser.post(PATH, form)
    assert Schedule.objects.count() == 3 and "Choose at least one entry" not in again.content.decode()
    assert shown(browser, MIXED).content.decode().count("Already imported.") == 3
    browser.post(done)
    browser.post(PATH, form | {"minutes": 60, "alarms": ""})
    assert Schedule.objects.count() == 3
    assert {one.state for one in Schedule.objects.for_user(ada)} == {"active"}
    assert Schedule.objects.get(title="Event dentist").rule == {"at": "2090-01-05T08:00:00"}


def test_a_person_without_room_imports_the_soonest(browser: Client, ada: User, settings: Settings) -> None:
    settings.MOST_SCHEDULES = 2
    inbox = make_channel(ada)
    page = shown(browser, MIXED)
    assert page.content.decode().count("as many reminders as one person may have here.</dd>") == 1
    browser.post(PATH, sent(page, MIXED, [inbox]))
    assert Schedule.objects.count() == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "No known program"),
        (b"{}", "a JSON file"),
        (b"PK\x03\x04rest", "ZIP archive"),
        (b"TYPE,CONTENT\ntask,caf\xe9\x81\n", "not text in UTF-8"),
        (b"TYPE,CONTENT\ntask,a\0b\n", "not text in UTF-8"),
        (b"TYPE,CONTENT,DATE\nsection,Home,\n", "no task and no job"),
        (b"TYPE,CONTENT,DATE\n" + b"task,a,tomorrow\n" * (MOST + 1), "more than 1,000 entries"),
        (b'TYPE,CONTENT,DATE\ntask,"' + b"x" * 200_000 + b"\n", "rows of this file"),
        (b"@daily a\n" * (MOST + 1), "more than 1,000 entries"),
        (b"one line of prose", "No known program"),
        (file()[:-10], "not a whole calendar file"),
        (file(), "no event"),
        (file(*(event(str(n)) for n in range(MOST + 1))), "more than 1,000 entries"),
        (file("X:" + "x" * LARGEST), "larger than 1 MB"),
        (b"\xff\xfe\x00binary", "not text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_taken_says_why(browser: Client, ada: User, content: bytes, said: str) -> None:
    answer = shown(browser, content)
    assert answer.status_code == 422 and said in answer.content.decode()


def test_the_largest_file_comes_back_from_the_preview(browser: Client, ada: User) -> None:
    """A browser writes each line end as two characters, and an unreadable byte as three."""
    make_channel(ada)
    events = "\n".join(event(str(number), "STATUS:CANCELLED") for number in range(MOST)).replace("\r\n", "\n")
    head = b"BEGIN:VCALENDAR\n" + events.encode() + b"\nX-BY:"
    content = head.ljust(LARGEST - 15, b"\xe4") + b"\nEND:VCALENDAR"
    assert shown(browser, content).status_code == 200
    again = content.decode("utf-8", "replace").replace("\n", "\r\n")
    assert browser.post(PATH, {"content": again, "again": "on", "take": range(MOST)}).status_code == 200


def test_a_form_that_is_wrong_imports_nothing_and_keeps_what_was_chosen(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    form = sent(shown(browser, MIXED), MIXED, [inbox])
    without = browser.post(PATH, form | {"channels": []}).content.decode()
    assert "Choose at least one channel" in without and without.count("checked") >= 3
    assert "Choose at least one entry" in browser.post(PATH, form | {"take": []}).content.decode()
    assert "Enter a whole number from 0 to 10,080." in browser.post(PATH, form | {"minutes": "x"}).content.decode()
    assert not Schedule.objects.exists()


def test_another_person_removes_nothing_of_mine(browser: Client, ada: User) -> None:
    done = browser.post(PATH, sent(shown(browser, MIXED), MIXED, [make_channel(ada)]))["Location"]
    stranger = signed_in(make_user())
    assert "Event dentist" not in stranger.get(done).content.decode()
    stranger.post(done)
    assert Schedule.objects.for_user(ada).count() == 3


def test_statements_of_a_preview_do_not_grow_with_the_file(
    browser: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_channel(ada)
    for count in (3, 300):
        content = file(*(event(str(n)) for n in range(count)))
        with django_assert_max_num_queries(10):
            assert shown(browser, content).content.decode().count('name="take"') == count


TASKS = b"TYPE,CONTENT,DATE,DATE_LANG\ntask,Call the bank,every monday at 9am,en\ntask,<b>Sometime</b>,when warm,en\n"


def tasks(page: HttpResponse, channels: list[Any]) -> dict[str, Any]:
    form = sent(page, TASKS, channels, format="todoist", was="todoist")
    return {name: form[name] for name in form.keys() - {"minutes", "alarms", "all_day_at"}}


def test_tasks_of_another_program_say_what_becomes_of_them_and_are_imported_once(browser: Client, ada: User) -> None:
    page = browser.post(PATH, {"file": SimpleUploadedFile("Home [220].csv", TASKS)})
    text = page.content.decode()
    assert "Every Monday at 09:00" in text and "Minutes before an event" not in text
    assert "Line 3: &lt;b&gt;Sometime&lt;/b&gt;" in text and "“when warm”" in text and "Correct these lines" in text
    form = tasks(page, [make_channel(ada)])
    for _again in range(2):
        done = browser.post(PATH, form)
    assert [one.title for one in Schedule.objects.for_user(ada)] == ["Call the bank"]
    browser.post(done["Location"])
    assert Schedule.objects.for_user(ada).count() == 1  # the second import made nothing
    text = browser.post(PATH, {"file": SimpleUploadedFile("Home.csv", TASKS)}).content.decode()
    assert "Nothing of this file becomes a new reminder" in text and "Already imported." in text


def test_a_file_can_be_read_as_another_format(browser: Client, ada: User) -> None:
    make_channel(ada)
    content = b"0 5 * * * root backup\n"
    page = browser.post(PATH, {"file": SimpleUploadedFile("jobs.txt", content)}).content.decode()
    assert '<option value="system-crontab" selected>' in page and "<strong>backup</strong>" in page
    changed = {"content": content.decode(), "format": "crontab", "was": "system-crontab", "again": ""}
    page = browser.post(PATH, changed).content.decode()
    assert '<option value="crontab" selected>' in page and "<strong>root backup</strong>" in page
    answer = browser.post(PATH, changed | {"format": "calendar"})
    assert (answer.status_code, "not a whole calendar file" in answer.content.decode()) == (422, True)
