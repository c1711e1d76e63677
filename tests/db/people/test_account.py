"""Everything of an account: downloaded, and deleted, whatever tables there are."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import re
import time
import zipfile
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group
from django.core import mail
from django.db import connection, models
from django.http import StreamingHttpResponse
from django.test import Client
from django_celery_beat.models import PeriodicTask
from psycopg import ServerCursor

from api.models import StoredAnswer
from common.uuid7 import uuid7
from events.models import Digest, Effect, Event, Subscription, Topic
from jobs.models import Batch, Job, Leaver, Memory, Part
from notifications.messages.message import Delivered
from notifications.models import Delivery
from notifications.models.change import Follower
from people import teams
from people.account import deletion, export
from people.account.rows import tables
from people.models import CallOverride, Membership, OnCall, Session, User
from people.web import account_views
from schedules.firing import fire
from schedules.models import Schedule
from tests import authenticator
from tests.db.every_url import values_of
from tests.make import (
    NINE,
    NOON,
    finish,
    make_channel,
    make_connection,
    make_delivery,
    make_rule,
    make_schedule,
    make_user,
    send_now,
    signed_in,
    take,
)
from watches.models import PingKey

PASSWORD = "bell-tower-42"


@pytest.fixture
def person() -> User:
    return make_user(email="gone@example.org", password=PASSWORD)


@pytest.fixture
def client_of(person: User) -> Client:
    """Signed in with the password just now, so that it is not asked for again."""
    client = Client()
    client.post("/account/login/", {"login": person.email, "password": PASSWORD})
    return client


def fill(person: User) -> None:
    """A row in as many tables as one person can have rows in."""
    values_of(person)
    inbox = person.channels.filter(provider="inbox").first()
    make_schedule(person, [inbox])
    fire.fire_due(NINE)
    for delivery in Delivery.objects.filter(notification__user=person, state="pending")[:2]:
        send_now(delivery.id)
    make_connection(person)
    rule = make_rule(person, channels=[inbox])
    event = Event.objects.filter(user=person).first()
    Effect.objects.create(event=event, rule=rule, outcome="notified")
    Digest.objects.create(user=person, rule=rule, type_pattern="order.*")
    Job.objects.create(user=person, kind="sample", slot=NOON)
    Memory.objects.create(origin_id=uuid7(), user=person)
    Leaver.objects.create(origin_id=uuid7(), user=person)
    Follower.objects.create(id=uuid7(), user=person)
    StoredAnswer.objects.create(user=person, key="k", fingerprint="f")
    Part.objects.create(batch=Batch.objects.filter(user=person).first(), first=1, last=2)
    person.groups.add(Group.objects.get_or_create(name="Club")[0])


def rows_of(user_id: int) -> dict[str, int]:
    """How many rows of the person each table has, by every chain of keys."""
    found = {}
    for model, path in tables().items():
        lookup = "__".join(key.name for key in path)
        rows = model._base_manager.filter(**{lookup or "pk": user_id})
        if count := rows.count():
            found[model._meta.label] = count
    return found


def delete(user: User) -> None:
    deletion.request(user)
    assert deletion.delete_requested() == 1
    with connection.cursor() as cursor:  # as at the commit, with the triggers that wait for it
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_no_row_remains_in_any_table(person: User) -> None:
    fill(person)
    other = make_user()
    fill_of_other = make_schedule(other, [make_channel(other)])
    before = rows_of(other.pk)
    assert len(rows_of(person.pk)) > 25, sorted(rows_of(person.pk))
    mirrors = PeriodicTask.objects.filter(mirrored_schedule__user=person).count()
    tasks = PeriodicTask.objects.count()
    delete(person)
    assert rows_of(person.pk) == {}
    assert PeriodicTask.objects.count() == tasks - mirrors
    assert rows_of(other.pk) == before and Schedule.objects.filter(id=fill_of_other.id).exists()


@pytest.mark.django_db(transaction=True)
def test_each_chunk_of_a_deletion_can_be_committed(person: User) -> None:
    """The account's row goes last, also where a row has a one-to-one key to it."""
    fill(person)
    PingKey.objects.get_or_create(user=person)
    OnCall.objects.create(team=person, first=NOON.date())
    EmailAddress.objects.get_or_create(user=person, email=person.email)
    deletion.request(person)
    assert deletion.delete_requested() == 1
    assert rows_of(person.pk) == {}


def test_every_table_with_a_key_to_a_person_is_deleted_or_keeps_no_name() -> None:
    """Rows that stay when an account goes lose their key to it."""
    kept = {
        f"{key.model._meta.label}.{key.name}"
        for model in tables()
        for relation in model._meta.get_fields(include_hidden=True)
        if isinstance(key := getattr(relation, "field", None), models.ForeignKey) and key.model not in tables()
    }
    # An operator's acts on dead letters: who did what is the installation's record.
    assert kept == {"work.Intervention.by"}


def test_what_is_being_sent_ends_without_harm_and_nothing_is_sent_after(person: User) -> None:
    inbox = make_channel(person)
    waiting = make_delivery(inbox)
    claim = take(make_delivery(inbox).id)
    assert claim is not None
    deletion.request(person)
    send_now(waiting.id)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason_code) == ("cancelled", "switched-off")
    deletion.delete_requested()
    finish(claim, Delivered())
    send_now(waiting.id)
    assert not Delivery.objects.exists()


def test_a_deletion_that_stops_at_any_chunk_goes_on_later(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = make_channel(person)
    for _ in range(5):
        make_delivery(inbox)
    make_schedule(person, [inbox])
    monkeypatch.setattr(deletion, "CHUNK", 2)
    deletion.request(person)
    runs = 0

    def dies(execute: Any, sql: str, *context: Any) -> Any:
        if sql.startswith(("DELETE", "UPDATE")) and next(left, None) is None:
            raise KeyboardInterrupt
        return execute(sql, *context)

    with connection.execute_wrapper(dies):
        while User.objects.filter(pk=person.pk).exists():
            runs, left = runs + 1, iter(range(4 + runs))
            with suppress(KeyboardInterrupt):
                deletion.delete_requested()
            assert runs < 100
    assert rows_of(person.pk) == {} and runs > 5


def test_a_task_without_time_leaves_the_rest_to_the_next(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    make_delivery(make_channel(person))
    deletion.request(person)
    with monkeypatch.context() as hurried:
        hurried.setattr(deletion, "_BUDGET", 0.0)
        assert deletion.delete_requested() == 0
    assert User.objects.filter(pk=person.pk).exists()
    assert deletion.delete_requested() == 1


def test_an_account_that_cannot_be_deleted_stops_no_other(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_user()

    def refuse(user_id: int) -> None:
        if user_id == person.pk:
            raise ValueError

    monkeypatch.setattr(deletion, "FIRST", [*deletion.FIRST, refuse])
    for one in (person, other):
        deletion.request(one)
    assert deletion.delete_requested() == 1
    assert list(User.objects.filter(deletion_asked_at__isnull=False)) == [person]


def test_an_address_that_an_owner_has_added_stays_in_their_list(person: User) -> None:
    owner = make_user()
    topic = Topic.objects.create(user=owner, slug="news", name="News")
    Subscription.objects.create(topic=topic, user=person, address=person.email)
    delete(person)
    assert list(Subscription.objects.values_list("address", "user")) == [(person.email, None)]


def test_what_staff_have_told_others_stays_with_them(person: User) -> None:
    reader = make_user()
    announced = make_delivery(make_channel(reader), origin="announcement", origin_id=make_schedule(person).id)
    topic = Topic.objects.create(user=person, slug="news", name="News")
    Subscription.objects.create(topic=topic, user=reader)
    Batch.objects.create(user=person, audience="everybody", message={"title": "News"})
    delete(person)
    assert Delivery.objects.filter(id=announced.id).exists()
    assert not Topic.objects.exists() and not Subscription.objects.exists() and not Batch.objects.exists()


def test_the_page_says_what_goes_and_asks_for_the_address(client_of: Client, person: User) -> None:
    inbox = make_channel(person)
    make_schedule(person, [inbox])
    make_delivery(inbox)
    page = client_of.get("/settings/delete/").content.decode()
    for said in ("1 reminder<", "1 message with its history", "1 channel<", person.email):
        assert said in page, said
    wrong = client_of.post("/settings/delete/", {"email": "other@example.org"})
    assert "not the address of this account" in wrong.content.decode()
    assert User.objects.get(pk=person.pk).is_active
    done = client_of.post("/settings/delete/", {"email": " GONE@example.org "})
    assert done.status_code == 302
    assert not User.objects.get(pk=person.pk).is_active
    assert client_of.get("/reminders/")["Location"].startswith("/account/login/")
    [sent] = [one for one in mail.outbox if "deleted" in one.subject]
    assert sent.to == [person.email]
    deletion.delete_requested()
    assert not User.objects.filter(pk=person.pk).exists()
    assert not [one for one in Session.objects.all() if str(person.pk) in str(one.get_decoded())]


def test_an_address_with_markup_is_shown_as_text() -> None:
    user = make_user(email='"<u>bold</u>"@example.org', password=PASSWORD)
    client = Client()
    client.post("/account/login/", {"login": user.email, "password": PASSWORD})
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    page = client.get("/settings/delete/").content.decode()
    assert "&lt;u&gt;bold" in page and "<u>" not in page


@pytest.mark.parametrize("path", ["/settings/delete/", "/settings/download/"])
def test_whoever_has_not_just_signed_in_confirms_that_it_is_them(path: str, person: User) -> None:
    somebody = signed_in(person)
    for answer in (somebody.get(path), somebody.post(path, {"email": person.email})):
        assert answer["Location"].startswith("/account/reauthenticate/")
    assert User.objects.get(pk=person.pk).is_active


@pytest.mark.parametrize("path", ["/settings/delete/", "/settings/download/", "/settings/export/"])
def test_a_sign_in_confirms_for_five_minutes_who_it_is(
    path: str, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    client.post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert client.get(path).status_code == 200
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 301)
    assert client.get(path)["Location"].startswith("/account/reauthenticate/")


@pytest.mark.parametrize("path", ["/settings/delete/", "/settings/download/"])
def test_a_session_from_before_the_second_factor_shows_it_first(path: str) -> None:
    user = make_user(password=authenticator.PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    before, other = Client(), Client()
    for client in (before, other):
        authenticator.sign_in(client, user.email)
    authenticator.set_up(other)
    assert before.get(path)["Location"].startswith("/account/second-factor/reauthenticate/")


def test_the_only_operator_cannot_leave(client_of: Client, person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_staff=True, is_superuser=True)
    refused = client_of.post("/settings/delete/", {"email": person.email})
    assert "only operator" in refused.content.decode()
    assert User.objects.get(pk=person.pk).is_active
    make_user(is_superuser=True, is_staff=True)
    assert client_of.post("/settings/delete/", {"email": person.email}).status_code == 302


# --- Download


def unpacked(user: User) -> dict[str, list[dict[str, Any]]]:
    file = io.BytesIO()
    export.write(user, file)
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        return {
            name.removesuffix(".jsonl"): [json.loads(line) for line in archive.read(name).splitlines()]
            for name in archive.namelist()
            if name.endswith(".jsonl")
        }


def test_the_download_has_every_row_of_every_table(person: User) -> None:
    fill(person)
    fill(make_user())
    found = unpacked(person)
    expected = {model._meta.db_table: count for model in tables() if (count := _shortest(model, person.pk))}
    assert {name: len(rows) for name, rows in found.items() if name != "sessions"} == expected
    assert len(expected) > 25


def _shortest(model: type[models.Model], user_id: int) -> int:
    lookup = "__".join(key.name for key in tables()[model])
    return model._base_manager.filter(**{lookup or "pk": user_id}).count()


def test_the_download_of_a_team_has_changes_of_who_is_on_call(person: User) -> None:
    team = teams.create(person, "Family")
    CallOverride.objects.create(member=Membership.objects.get(team=team), begins_at=NOON, ends_at=NINE)
    for account in (person, team):
        found = unpacked(account)
        assert [len(found[name]) for name in ("people_membership", "people_calloverride")] == [1, 1]


def test_no_column_of_the_download_holds_a_secret(person: User) -> None:
    fill(person)
    named = {column for rows in unpacked(person).values() for row in rows for column in row}
    assert not [name for name in named if re.search(r"secret|passw|hash|token|sealed_|nonce", name)]
    planted = json.dumps(unpacked(person))
    for secret in ("whsec_", "ghp_", person.password):
        assert secret not in planted


def test_no_column_with_a_random_default_is_in_the_download() -> None:
    """What is made at random may give access. Ids by `uuid7` do not."""
    exposed = [
        f"{model._meta.label}.{field.column}"
        for model in tables()
        for field in model._meta.concrete_fields
        if field.has_default() and callable(default := field.default) and default is not uuid7
        if not isinstance(field, models.DateTimeField) and default() != default()
        if field.column not in (*export.SECRET, *export._SECRET_IN.get(model._meta.label, ()))
    ]
    assert exposed == []


def test_the_download_reads_in_batches_by_cursors_of_the_server(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_BATCH", 2)
    inbox = make_channel(person)
    for _ in range(5):
        make_delivery(inbox)
    cursors = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        cursors.append(context["cursor"].cursor)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        assert len(unpacked(person)["notifications_delivery"]) == 5
    read_by = [isinstance(one, ServerCursor) for one in cursors]
    assert read_by.count(True) == len(tables())


def test_the_download_is_sent_in_pieces_and_a_few_times_an_hour(client_of: Client, person: User) -> None:
    assert "Download all data" in client_of.get("/settings/download/").content.decode()
    for _ in range(5):
        answer = client_of.post("/settings/download/")
        assert answer["Content-Type"] == "application/zip" and answer.streaming
        assert re.search(r'filename="carillon-account-[\d-]+\.zip"', answer["Content-Disposition"])
        assert len(asyncio.run(_read(answer))) == int(answer["Content-Length"])
    assert client_of.post("/settings/download/").status_code == 302


def test_a_download_that_nobody_reads_leaves_no_file_open(
    client_of: Client, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[IO[bytes]] = []

    def opened() -> IO[bytes]:
        files.append(TemporaryFile())  # noqa: SIM115 - the response closes it
        return files[-1]

    monkeypatch.setattr(account_views, "TemporaryFile", opened)
    client_of.post("/settings/download/").close()
    gc.collect()  # the client and its answer refer to each other
    assert [file.closed for file in files] == [True]


async def _read(answer: StreamingHttpResponse) -> bytes:
    return b"".join([piece async for piece in answer])
