"""Pages are in the language of the account or the browser, messages in the account's, and the API in English."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from common.texts.numbers import grouped
from notifications.models import Notification
from notifications.providers import inbox
from people.models import User
from schedules.firing import fire, quarantine
from schedules.models import Schedule
from tests.make import NINE, NOON, make_channel, make_delivery, make_schedule, make_user, send_now, signed_in
from work.operators import summary as operator_summary

GERMAN_BROWSER = {"accept-language": "de-AT,de;q=0.9,en;q=0.5"}


def languages_of(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[str | None]:
    """The languages in which a function is called from now on."""
    spoken: list[str | None] = []
    original = getattr(owner, name)

    def call(*given: Any) -> Any:
        spoken.append(translation.get_language())
        return original(*given)

    monkeypatch.setattr(owner, name, call)
    return spoken


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("de-AT,de;q=0.9", "de"), ("es", "es"), ("en-US,en;q=0.5", "en-gb"), ("fi", "en-gb"), ("", "en-gb")],
)
def test_a_page_is_in_the_language_of_the_browser(client: Client, db: None, asked: str, shown: str) -> None:
    page = client.get("/account/login/", headers={"accept-language": asked})
    assert f'<html lang="{shown}"' in page.content.decode()
    assert (page["Content-Language"], "Accept-Language" in page["Vary"]) == (shown, True)


def test_the_language_of_the_account_comes_before_that_of_the_browser() -> None:
    client = signed_in(make_user(language="es"))
    assert '<html lang="es"' in client.get("/settings/", headers=GERMAN_BROWSER).content.decode()


def test_a_language_that_is_not_offered_any_more_is_the_installations() -> None:
    assert '<html lang="en-gb"' in signed_in(make_user(language="tlh")).get("/settings/").content.decode()


def test_the_language_is_chosen_in_the_settings() -> None:
    user = make_user()
    client = signed_in(user)
    client.post("/settings/", {"name": "Ada", "time_zone": "Europe/Berlin", "language": "de"})
    assert User.objects.get(pk=user.pk).language == "de"
    client.post("/settings/", {"name": "Ada", "time_zone": "Europe/Berlin", "language": "tlh"})
    assert User.objects.get(pk=user.pk).language == "de"


def test_who_signs_up_is_written_to_in_the_language_of_the_page(client: Client, db: None) -> None:
    typed = {"email": "anna@example.org", "password1": "bell-tower-42", "name": "Anna", "time_zone": "Europe/Rome"}
    client.post("/account/signup/", typed, headers=GERMAN_BROWSER)
    assert User.objects.get(email="anna@example.org").language == "de"


def test_the_api_is_english_for_everybody(client: Client, db: None) -> None:
    plain, german = (client.get("/api/v1/me", headers=headers) for headers in ({}, GERMAN_BROWSER))
    assert (german.status_code, german.json()) == (plain.status_code, plain.json())
    assert german["Content-Language"] == "en-gb"


def test_a_reminder_names_its_date_in_the_language_of_its_person() -> None:
    for language in ("de", "es", ""):
        user = make_user(language=language)
        make_schedule(user, [make_channel(user)], title="{date}", now=NOON)
    fire.fire_due(NINE)
    said = Notification.objects.order_by("user_id").values_list("subject", flat=True)
    assert list(said) == ["Dienstag, 2. Juni 2026", "martes, 2 de junio de 2026", "Tuesday 2 June 2026"]


def test_a_worker_sends_in_the_language_of_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    spoken = languages_of(monkeypatch, inbox.Inbox, "send")
    for language in ("de", ""):
        send_now(make_delivery(make_channel(make_user(language=language))).id)
    assert spoken == ["de", "en-gb"]
    assert translation.get_language() == "en-gb"


def test_instants_are_written_as_the_reader_writes_them() -> None:
    user = make_user(language="de", time_zone="UTC")
    schedule = make_schedule(user, [make_channel(user)], now=NOON)
    page = signed_in(user).get(f"/reminders/{schedule.id}/").content.decode()
    assert "2. Jun" in page
    assert "Jun 2026, 09:00" not in page


def test_each_operator_gets_the_summary_in_their_language(monkeypatch: pytest.MonkeyPatch) -> None:
    make_delivery(make_channel(make_user()), state="dead")
    for language in ("de", "es"):
        make_user(language=language, is_staff=True)
    spoken = languages_of(monkeypatch, operator_summary, "_words")
    operator_summary.send(NOON)
    assert spoken == ["de", "es"]


def test_a_notice_about_a_reminder_is_in_its_owners_language(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = make_user(language="es")
    make_channel(owner)
    make_schedule(owner, [], now=NOON)
    spoken = languages_of(monkeypatch, quarantine.words, "without_channel")
    with translation.override("de"):
        fire.fire_due(NINE)
    assert spoken == ["es"]


def test_the_admin_names_states_fields_and_numbers_in_the_language_of_its_reader() -> None:
    staff = make_user(language="de", is_staff=True, is_superuser=True)
    client = signed_in(staff)
    sent = make_delivery(make_channel(staff), state="cancelled", settled_at=NOON)
    Notification.objects.update(outcome="dropped")
    page = client.get("/admin/notifications/delivery/").content.decode()
    assert "abgebrochen" in page and ">cancelled<" not in "".join(page.split())
    assert "verworfen" in client.get("/admin/notifications/notification/").content.decode()
    schedule = make_schedule(staff, [sent.channel])
    page = client.get(f"/admin/schedules/schedule/{schedule.id}/change/").content.decode()
    assert "Höchstzahl" in page and "Max count" not in page
    with translation.override("de"):
        assert grouped(12_345) == "12.345"


def test_why_a_rule_is_broken_is_said_in_the_language_of_the_reader() -> None:
    owner = make_user(language="de")
    schedule = make_schedule(owner, [make_channel(owner)])
    Schedule.objects.update(state="broken", next_fire_at=None, rule={"time": "25:00"}, error="InvalidRule: in English")
    page = signed_in(owner).get(f"/reminders/{schedule.id}/").content.decode()
    assert "in English" not in page and "25:00" in page
    # It can be read again.
    Schedule.objects.update(rule={"time": "09:00"})
    assert "in English" in signed_in(owner).get(f"/reminders/{schedule.id}/").content.decode()
