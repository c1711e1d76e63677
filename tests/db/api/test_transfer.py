"""Everything as a file: written, read by another account, and the same again."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from api.resources.transfer import load, sections
from api.resources.transfer.load import Outcome
from common.redis import request_slots
from common.redis.cache import Cache
from counters import totals
from events.inbound import addresses
from events.inbound.addresses import InboundForm
from events.models import InboundAddress, Rule, Subscription, Topic
from events.rules import changes
from jobs import connections
from jobs.changes import connections as connection_changes
from jobs.connections.base import ConnectionKind
from jobs.models import Connection
from notifications.models import Channel
from people.models import SecurityEvent, User
from people.user_lock import lock_at_once
from schedules.changes import editing
from schedules.models import Holiday, Schedule
from tests.db.locks import locked
from tests.make import (
    make_channel,
    make_connection,
    make_job_schedule,
    make_rule,
    make_schedule,
    make_user,
    make_watch,
    signed_in,
)
from watches import changes as watch_changes
from watches.models import Badge, StatusPage, Watch

STREAK = {"when": "always", "login": "", "done_title": "Done", "done_body": "Well done."}
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOOK = {"url": "https://example.org/hook"}


def fill(user: User) -> None:
    """One or more of everything that a file holds."""
    User.objects.filter(pk=user.pk).update(
        name="Ada",
        language="de",
        time_zone="Europe/Berlin",
        weekly_hours={"fri": ["08:00", "01:00"]},
        public_holidays="US-CA",
    )
    user.refresh_from_db()
    inbox, mail = make_channel(user), make_channel(user, "email", use_for_new=False)
    hook = make_channel(user, "webhook", label="Home", give_up_after=600, on_unknown="hold")
    ntfy = make_channel(
        user, "ntfy", {"topic": "planted-topic"}, label="Phone",
        address={"url": "https://ntfy.sh", "beginning": "pla", "priority": 4},
    )  # fmt: skip
    github = make_connection(user)
    make_schedule(user, [inbox], title="Daily", tags=["home"], category="plants", data={"room": "kitchen"}, urgent=True)
    make_schedule(
        user, [ntfy, hook, inbox], title="In order", in_order=True, escalate_after=15, kind="weekly",
        nag_every=10, nag_times=3, nag_channel_ids=[hook.id], early=[1440, 10],
        rule={"time": "18:00", "days": [2, 6]}, time_zone="Europe/Berlin", stale_after=3600, spread=60, grace=90,
        misfire=Schedule.Misfire.SKIP, excluded=[date(2090, 12, 25)], max_count=7,
    )  # fmt: skip
    rule = {"rule": "DTSTART:20900105T090000\nRRULE:FREQ=DAILY"}
    waiting = make_schedule(user, [mail], title="Rule", kind="rrule", rule=rule, after_done=True)
    Schedule.objects.filter(id=waiting.id).update(state="awaiting", next_fire_at=None)
    make_schedule(user, [inbox], title="Once", kind="once", rule={"at": "2090-01-05T09:00:00"})
    make_schedule(user, [inbox], title="Window", starts_at=NOW.replace(year=2091), ends_at=NOW.replace(year=2092))
    paused = make_schedule(user, [inbox], title="Paused")
    editing.pause(paused.id, NOW, user)
    over = make_schedule(user, [inbox], title="Over", kind="once", rule={"at": "2026-06-02T09:00:00"})
    Schedule.objects.filter(id=over.id).update(state="finished", next_fire_at=None)
    make_job_schedule(user, "github_streak", STREAK, title="Streak", body="", channels=[inbox], connection=github)
    make_rule(user, channels=[hook, ntfy], channel_order=[hook.id, ntfy.id], digest_at="09:00")
    off = make_rule(user, channels=[inbox], name="Off")
    changes.switch(off.id, False)
    editing.archive(make_schedule(user, [inbox], title="Archived", tags=["home"]).id, NOW, user)
    Holiday.objects.create(user=user, first="2090-08-03", last="2090-08-17", tags=["home"], note="Italy")
    topic = Topic.objects.create(user=user, slug="news", name="News", description="Of the club")
    Subscription.objects.create(topic=topic, user=user, channel_ids=[inbox.id])
    form = InboundForm({"label": "Shop", "scheme": "github", "secret": "planted-secret-of-16", "enabled": "on"})
    assert form.is_valid(), form.errors
    addresses.create(user, form)
    watch = make_watch(user, [ntfy, hook], name="Backup", tags=["db"], slug="backup", channel_order=[hook.id, ntfy.id])
    daily = {"kind": "daily", "rule": {"time": "02:00"}, "period": None, "time_zone": "Europe/Berlin"}
    rule = make_watch(user, [inbox], name="By a rule", failure_words=["ERROR"], lock="db", longest_run=60, **daily)
    watch_changes.pause(rule.id, stays_paused=True)
    Badge.objects.create(user=user, watch=watch)
    Badge.objects.create(user=user, tag="db")
    page = StatusPage.objects.create(user=user, title="Ours", slug="planted-slug", intro="All of it.")
    page.watches.set([watch, rule])
    totals.add(user, "builds", 5)
    totals.add(user, "builds", -2)


def exported(user: User) -> dict[str, Any]:
    file: dict[str, Any] = json.loads(load.written_file(User.objects.get(pk=user.pk), NOW))
    return file


def plain(document: dict[str, Any]) -> Any:
    """With the labels of channels and connections in place of their ids, which differ from account to account."""
    names = {one["id"]: one["label"] for one in [*document["channels"], *document["connections"]]}
    names |= {one["id"]: one["slug"] for one in document["topics"]}
    names |= {one["id"]: one["name"] for one in document["watches"]}

    def named(value: Any) -> Any:
        if isinstance(value, dict):
            shown = {name: named(one) for name, one in value.items() if name != "id"}
            # In the order of their ids, which an import chooses anew.
            return shown | {"watch_ids": sorted(shown["watch_ids"])} if "watch_ids" in shown else shown
        if isinstance(value, list):
            listed = [named(one) for one in value]
            return sorted(listed, key=str) if value and isinstance(value[0], dict) else listed
        return names.get(value, value) if isinstance(value, str) else value

    return named(document)


@pytest.fixture
def newcomer() -> User:
    user = make_user(email="newcomer@example.org", name="", time_zone="")
    make_channel(user)
    return user


def taken(user: User, document: Any) -> Outcome:
    return load.load(user, load.check(document))


def test_what_another_account_takes_over_is_the_same_again(ada: User, newcomer: User) -> None:
    fill(ada)
    file = exported(ada)
    outcome = taken(newcomer, file)
    assert outcome.troubles == []
    again = exported(newcomer)
    assert plain(again) == plain(file)
    assert outcome.added == {
        "settings": 1, "channels": 3, "connections": 1, "topics": 1, "subscriptions": 1, "inbound": 1, "rules": 2,
        "holidays": 1,
        "reminders": 9, "watches": 2, "badges": 2, "status_pages": 1, "counters": 1,
    }  # fmt: skip
    assert set(outcome.to_confirm) == {"Email", "Home", "Phone", "Github", "Shop"}


def test_nothing_of_another_account_comes_unasked(ada: User, newcomer: User) -> None:
    """Channels are not confirmed, connections have no secrets, and inbound addresses are new ones."""
    fill(ada)
    taken(newcomer, exported(ada))
    unconfirmed = set(Channel.objects.filter(user=newcomer, verified_at=None).values_list("label", flat=True))
    assert unconfirmed == {"Email", "Home", "Phone"}
    connection = Connection.objects.get(user=newcomer)
    assert (connection.destination().secrets, connection.verified_at) == ({}, None)
    own, others = InboundAddress.objects.get(user=newcomer), InboundAddress.objects.get(user=ada)
    assert own.secrets()["token"] != others.secrets()["token"] and own.secrets()["secret"] == ""
    assert own.needs_secret


@pytest.mark.parametrize(
    "kind", [kind for kind in connections.all() if kind.name != "address"], ids=lambda kind: kind.name
)
def test_a_connection_that_came_without_its_secret_says_so(ada: User, newcomer: User, kind: ConnectionKind) -> None:
    form = kind.form({"url": HOOK["url"], "token": "ghp_" + "a" * 36})
    assert form.is_valid(), form.errors
    connection_changes.add(ada, kind, kind.destination(form.cleaned_data), "Mine", checked=True)
    taken(newcomer, exported(ada))
    found = Connection.objects.get(user=newcomer)
    assert "None" not in kind.summary(found.address)
    why = connection_changes.check(found)
    assert why is not None and why.code == "connection-unreadable"


def test_a_file_holds_no_secret(browser: Client, ada: User) -> None:
    fill(ada)
    answer = browser.post("/settings/export/")
    assert "carillon-" in answer["Content-Disposition"]
    text = answer.getvalue().decode()
    for secret in (
        "whsec_",
        "planted-topic",
        "ghp_",
        "planted-secret-of-16",
        "planted-slug",
        Badge.objects.first().token,  # type: ignore[union-attr]
        InboundAddress.objects.get().secrets()["token"],
    ):
        assert secret not in text


def test_taking_it_over_twice_changes_nothing(ada: User, newcomer: User) -> None:
    fill(ada)
    file = exported(ada)
    taken(newcomer, file)
    before = exported(newcomer)
    for user in (newcomer, ada):
        outcome = taken(user, file)
        assert (dict(outcome.added), outcome.troubles) == ({}, [])
    assert exported(newcomer) == before


def test_what_was_deleted_since_comes_back(ada: User) -> None:
    fill(ada)
    file = exported(ada)
    daily = Schedule.objects.get(user=ada, title="Daily")
    editing.delete(daily.id, NOW, ada)
    changes.delete(Rule.objects.get(user=ada, name="Off").id)
    outcome = taken(ada, file)
    assert dict(outcome.added) == {"reminders": 1, "rules": 1}
    assert plain(exported(ada)) == plain(file)


def test_the_same_by_hand_counts_as_there_already(ada: User, newcomer: User) -> None:
    make_schedule(ada)
    make_rule(ada, channels=[Channel.objects.get(user=ada)])
    file = exported(ada)
    make_schedule(newcomer, [Channel.objects.get(user=newcomer)])
    make_rule(newcomer, channels=[Channel.objects.get(user=newcomer)])
    outcome = taken(newcomer, file)
    assert outcome.existing == {"channels": 1, "rules": 1, "reminders": 1}


def test_what_was_deleted_stays_so_where_there_is_no_room(ada: User, settings: Settings) -> None:
    fill(ada)
    file = exported(ada)
    editing.delete(Schedule.objects.get(user=ada, title="Daily").id, NOW, ada)
    changes.delete(Rule.objects.get(user=ada, name="Off").id)
    settings.MOST_SCHEDULES = Schedule.objects.for_user(ada).count()
    settings.MOST_RULES = Rule.objects.for_user(ada).count()
    outcome = taken(ada, file)
    assert not outcome.added and {one.section for one in outcome.troubles} >= {"reminders", "rules"}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("reminders", {"title": ""}, "title"),
    ("reminders", {"title": 5}, "title"),
    ("reminders", {"timing": None}, "timing"),
    ("reminders", {"timing": {"daily": {"time": "25:00"}}}, "timing.daily.time"),
    ("reminders", {"timing": {"cron": {"expression": "x"}}}, "timing.cron.expression"),
    ("reminders", {"time_zone": "Mars/Olympus"}, "time_zone"),
    ("reminders", {"channel_ids": ["nowhere"]}, "channel_ids"),
    ("reminders", {"channel_ids": 5}, "channel_ids"),
    ("reminders", {"escalate_after": "x"}, "escalate_after"),
    ("reminders", {"audience": {"kind": "everybody", "key": ""}}, "audience"),
    ("reminders", {"job": {"kind": "nothing"}}, "job.kind"),
    ("reminders", {"data": "x"}, "data"),
    ("reminders", {"snooze_ends_at": "9999-12-31T23:59:59Z"}, "snooze_ends_at"),
    ("rules", {"type_pattern": "order paid"}, "type_pattern"),
    ("rules", {"channel_ids": ["nowhere"]}, "channel_ids"),
    ("rules", {"conditions": [{"field": "x", "operator": "?", "value": 1}]}, "conditions"),
    ("channels", {"kind": "pigeon"}, "kind"),
    ("channels", {"kind": "web_push"}, "kind"),
    ("channels", {"kind": "email", "fields": {"address": "nobody"}}, "fields.address"),
    ("channels", {"kind": 5}, "kind"),
    ("channels", {"fields": []}, "fields"),
    ("connections", {"kind": "pigeon"}, "kind"),
    ("holidays", {"first": "2091-01-01"}, "last"),
    ("topics", {"slug": "not a slug"}, "slug"),
    ("subscriptions", {"topic_id": "01890a5d-ac96-774b-bcce-b302099a8057"}, "topic_id"),
    ("inbound", {"scheme": "pigeon"}, "scheme"),
]


def test_entries_that_are_wrong_name_their_fields_and_stop_no_other(ada: User, newcomer: User) -> None:
    fill(ada)
    file, sound, refused = exported(ada), exported(ada), set()
    for number, (section, change, field) in enumerate(WRONG):
        name = f"Wrong {number}"
        wrong = sound[section][-1 if section != "reminders" else 0] | {"id": name, "title": name, "label": name}
        file[section].append(wrong | change)
        refused.add((section, str(change.get("title", name) or name), field))
    outcome = taken(newcomer, file)
    assert {(one.section, one.name, one.field.split(".0")[0]) for one in outcome.troubles} == refused
    assert all(one.detail for one in outcome.troubles)
    assert outcome.added["reminders"] == 9 and outcome.added["rules"] == 2


def test_a_snooze_of_a_thousand_years_stays(ada: User, newcomer: User) -> None:
    fill(ada)
    file = exported(ada)
    file["reminders"][0]["snooze_ends_at"] = "2999-01-01T09:00:00Z"
    assert not taken(newcomer, file).troubles
    [snoozed] = Schedule.objects.filter(user=newcomer).exclude(snoozed_until=None)
    assert snoozed.snoozed_until == datetime(2999, 1, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "field", "wrong"),
    [
        ("webhook", "headers", {"X-Room": 7}),
        ("webhook", "headers", {"X-Room": {"a": "b"}}),
        ("status", "types", [7]),
        ("status", "types", [["delivery.*"]]),
    ],
)
def test_a_field_of_a_channel_of_another_type_is_named(newcomer: User, kind: str, field: str, wrong: Any) -> None:
    fields = {"url": "https://example.org/hook", "types": ["delivery.*"], field: wrong}
    file = {"format": "carillon", "version": 1, "channels": [{"id": "1", "kind": kind, "fields": fields}]}
    assert [one.field for one in taken(newcomer, file).troubles] == [f"fields.{field}"]


@pytest.mark.parametrize("wrong", ["25:00", 5, True, [], {}], ids=repr)
def test_wrong_settings_are_named_and_the_others_stay(newcomer: User, wrong: Any) -> None:
    file = {"format": "carillon", "version": 1, "settings": {"time_zone": "Europe/Berlin", "quiet_from": wrong}}
    outcome = taken(newcomer, file)
    assert {one.field for one in outcome.troubles} >= {"quiet_from"}
    assert User.objects.get(pk=newcomer.pk).time_zone == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a JSON file"),
        (b"[1", "not a JSON file"),
        (b'{"a": 1, "a": 2}', "there twice"),
        (b"\xff", "not valid UTF-8"),
        (b"[]", "has not written this file"),
        (b'{"format": "other"}', "has not written this file"),
        (b'{"format": "carillon", "version": 2}', "another version"),
        (b'{"format": "carillon", "version": 1, "reminders": {}}', "damaged"),
        (json.dumps({"format": "carillon", "version": 1, "reminders": [1] * 2001}).encode(), "more than 2,000"),
        (b" " * (4 * 1024 * 1024 + 1), "larger than 4 MB"),
    ],
)
def test_a_file_that_cannot_be_taken_says_why(browser: Client, ada: User, content: bytes, said: str) -> None:
    answer = uploaded(browser, content)
    assert answer.status_code == 422 and said in answer.content.decode()


def test_a_file_of_another_name_is_not_read(browser: Client, ada: User) -> None:
    answer = browser.post(
        "/settings/import/", {"file": SimpleUploadedFile("carillon.exe", json.dumps(exported(ada)).encode())}
    )
    assert (answer.status_code, "that Carillon has exported" in answer.content.decode()) == (422, True)


def uploaded(client: Client, content: bytes) -> HttpResponse:
    return client.post("/settings/import/", {"file": SimpleUploadedFile("carillon.json", content)})


@pytest.mark.parametrize(("language", "said"), [("de", "Schreibe einen Text."), ("es", "Escribe un texto.")])
def test_a_wrong_type_in_an_entry_is_told_in_the_language_of_the_page(
    language: str, said: str, browser: Client, ada: User
) -> None:
    User.objects.update(language=language)
    file = exported(ada) | {"channels": [{"kind": 5, "label": "Pager", "fields": {}}]}
    assert said in uploaded(browser, json.dumps(file).encode()).content.decode()


def test_a_file_has_a_line_for_each_entry_and_is_taken_as_it_was_downloaded(browser: Client, ada: User) -> None:
    fill(ada)
    content = browser.post("/settings/export/").content
    assert SecurityEvent.objects.filter(user=ada, type="exported").count() == 1
    lines = [json.loads(line.removesuffix(",")) for line in content.decode().splitlines() if line.startswith('{"id"')]
    assert len(lines) == sum(len(one) for one in json.loads(content).values() if isinstance(one, list)) > 10
    assert "Nichts zu importieren" in uploaded(browser, content).content.decode()


def test_a_file_is_shown_first_and_then_taken_over(ada: User, newcomer: User) -> None:
    fill(ada)
    broken = make_schedule(ada, [Channel.objects.get(user=ada, provider="inbox")], title="Broken")
    Schedule.objects.filter(id=broken.id).update(state="broken", next_fire_at=None, rule={"time": "25:00"})
    content = json.dumps(exported(ada))
    client = signed_in(newcomer)
    page = uploaded(client, content.encode()).content.decode()
    assert "Import 26 entries?" in page and "1 entry cannot be imported" in page and "Reminders: Broken" in page
    assert not Schedule.objects.filter(user=newcomer).exists()
    assert User.objects.get(pk=newcomer.pk).time_zone == ""
    assert client.post("/settings/import/", {"content": content})["Location"] == "/reminders/"
    assert Schedule.objects.filter(user=newcomer).count() == 9
    assert "Nichts zu importieren" in uploaded(client, content.encode()).content.decode()  # Ada's language came too


def test_watches_come_with_their_badges_and_pages_which_have_new_addresses(ada: User, newcomer: User) -> None:
    fill(ada)
    taken(newcomer, exported(ada))
    by_period, by_rule = Watch.objects.for_user(newcomer).order_by("name")
    assert [one.label for one in by_period.ordered_channels()] == ["Home", "Phone"]
    assert (by_period.slug_url.rpartition("/")[2], by_period.state) == ("backup", "new")
    assert (by_rule.state, by_rule.stays_paused, by_rule.failure_words) == ("paused", True, ["ERROR"])
    assert by_rule.token not in {one.token for one in Watch.objects.for_user(ada)}
    page = StatusPage.objects.get(user=newcomer)
    assert {*page.watches.all()} == {by_period, by_rule} and page.slug != "planted-slug"
    assert totals.values(newcomer) == {"builds": 3}
    without = exported(ada) | {"watches": []}
    [trouble] = taken(make_user(), without).troubles[-1:]
    assert (trouble.section, trouble.field) == ("badges", "watch_id")


def test_limits_hold_for_files_too(ada: User, newcomer: User, settings: Settings) -> None:
    fill(ada)
    file = exported(ada)
    settings.MOST_SCHEDULES, settings.MOST_CHANNELS, settings.MOST_RULES = 3, 2, 1
    outcome = taken(newcomer, file)
    assert Schedule.objects.filter(user=newcomer).count() <= 3
    assert Channel.objects.filter(user=newcomer).count() == 2
    assert Rule.objects.filter(user=newcomer).count() <= 1
    assert {one.section for one in outcome.troubles} >= {"channels", "reminders", "rules"}


def test_statements_of_an_export_do_not_grow(ada: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    fill(ada)
    for _ in range(2):
        with django_assert_num_queries(17):
            exported(ada)
        fill_more = Channel.objects.filter(user=ada, provider="inbox").first()
        for _ in range(20):
            make_schedule(ada, [fill_more])
            make_rule(ada, channels=[fill_more])
            Badge.objects.create(user=ada, watch=make_watch(ada, [fill_more]))


@pytest.mark.django_db(transaction=True)
def test_an_import_checks_without_a_lock_and_may_be_repeated(
    ada: User, newcomer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ada)
    file = exported(ada)
    described = sections.schedules.described

    def check(*given: Any, **options: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(free, newcomer).result()
        return described(*given, **options)

    monkeypatch.setattr(sections.schedules, "described", check)
    load.preview(newcomer, file)
    with locked("people_user", newcomer.pk):
        load.preview(newcomer, file)
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(sections.editing, "pause", Mock(side_effect=SystemExit))  # the process ends in the middle
        load.load(newcomer, file)
    made = Schedule.objects.filter(user=newcomer).count()
    assert 0 < made < Schedule.objects.for_user(ada).count()
    outcome = load.load(newcomer, file)
    assert outcome.existing["reminders"] == made and not outcome.troubles
    assert Schedule.objects.filter(user=newcomer).count() == Schedule.objects.for_user(ada).count()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("section", ["settings", "reminders"])
def test_an_entry_waits_for_another_change_of_its_person(
    newcomer: User, monkeypatch: pytest.MonkeyPatch, section: str
) -> None:
    """On a busy machine, another change may hold the lock for longer than a second."""
    inbox = {"id": "1", "kind": "inbox", "label": "Inbox", "fields": {}}
    entry = {"title": "Rent", "channel_ids": ["1"], "timing": {"daily": {"time": "09:00"}}, "time_zone": "UTC"}
    content = {"settings": {"name": "Bob", "time_zone": "UTC"}, "reminders": [entry]}
    file = {"format": load.FORMAT, "version": load.VERSION, "channels": [inbox], section: content[section]}
    lock, tries = sections.lock_in_transaction, []
    with locked("people_user", newcomer.pk) as other:

        def lock_at_the_second_try(user: User) -> datetime:
            tries.append(user)
            if len(tries) == 2:
                other.rollback()
            return lock(user)

        for module in (sections, load):
            monkeypatch.setattr(module, "lock_in_transaction", lock_at_the_second_try)
        outcome = load.load(newcomer, file)
    assert (outcome.added[section], outcome.troubles, len(tries)) == (1, [], 2)
    newcomer.refresh_from_db()
    assert newcomer.name == "Bob" or Schedule.objects.filter(user=newcomer, title="Rent").exists()


@pytest.mark.django_db(transaction=True)
def test_an_entry_whose_person_stays_locked_is_named_and_its_settings_are_forgotten(
    newcomer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "MOST_WAITS", 1)
    file = {"format": load.FORMAT, "version": load.VERSION, "settings": {"name": "Bob", "time_zone": "UTC"}}
    with locked("people_user", newcomer.pk):
        outcome = load.load(newcomer, file)
    assert [(one.section, one.detail[:32]) for one in outcome.troubles] == [
        ("settings", "You were changing something else")
    ]
    assert newcomer.name != "Bob"


def free(user: User) -> None:
    """Raises Busy if the person is locked."""
    try:
        with transaction.atomic():
            lock_at_once(user.pk)
    finally:
        connection.close()


def test_very_many_unknown_fields_within_an_entry_are_one_fault(newcomer: User) -> None:
    many = {f"{number:x}": 0 for number in range(20_000)}
    entry = {"title": "Rent", "channel_ids": [], "id": "1", "timing": {"daily": many}, "job": many}
    outcome = load.load(newcomer, {"format": load.FORMAT, "version": load.VERSION, "reminders": [entry]})
    assert sorted(one.field for one in outcome.troubles) == ["job", "timing.daily"]


def test_an_import_stops_after_fifty_faults_and_says_so(newcomer: User) -> None:
    entries = [{"title": "", "channel_ids": [], "id": str(number)} for number in range(200)]
    file = {
        "format": load.FORMAT,
        "version": load.VERSION,
        "reminders": entries,
    }
    outcome = load.load(newcomer, file)
    assert load.MOST_TROUBLES <= len(outcome.troubles) < load.MOST_TROUBLES + 5 and outcome.stopped
    client = signed_in(newcomer)
    page = client.post("/settings/import/", {"content": json.dumps(file)}, follow=True).content.decode()
    assert "stopped before the end" in page


def test_a_person_imports_one_file_at_a_time_and_ten_an_hour(newcomer: User) -> None:
    client, content = signed_in(newcomer), json.dumps(exported(newcomer)).encode()
    with request_slots.one_import(newcomer.pk):
        assert uploaded(client, content).status_code == 429
    for _ in range(request_slots.IMPORTS_AN_HOUR - 2):
        assert uploaded(client, content).status_code == 200
    assert uploaded(client, content).status_code == 429
    assert uploaded(signed_in(make_user()), content).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_imports_at_once_is_told_to_wait_also_without_redis(
    ada: User, newcomer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ada)
    file = exported(ada)
    described = sections.schedules.described

    def meanwhile(*given: Any, **options: Any) -> Any:
        """The other one takes over the whole file, in a process that counts alone."""
        monkeypatch.setattr(sections.schedules, "described", described)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(take_over).result()
        return described(*given, **options)

    def take_over() -> None:
        try:
            load.load(User.objects.get(pk=newcomer.pk), file)
        finally:
            connection.close()

    monkeypatch.setattr(Cache, "add", lambda *given, **options: True)
    monkeypatch.setattr(sections.schedules, "described", meanwhile)
    client = signed_in(newcomer)
    client.raise_request_exception = False
    answer = client.post("/settings/import/", {"content": json.dumps(file)})
    assert (answer.status_code, answer.get("Retry-After")) == (409, "5")
    assert client.post("/settings/import/", {"content": json.dumps(file)}).status_code == 302
    assert Schedule.objects.filter(user=newcomer).count() == Schedule.objects.for_user(ada).count()
