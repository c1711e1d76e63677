"""Nobody reaches another person's rows, by any address there is: 404, never 403."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from events.models import Topic
from people.models import User
from tests.db.api.conftest import Api
from tests.db.conftest import undone
from tests.db.every_url import bodies_of, delete_all, every_operation, every_url, values_of
from tests.make import happen, make_channel, make_delivery, make_rule, make_schedule, make_user, signed_in

# What opens without signing in, and why.
OPEN = {
    "people:home": "the front page",
    "people:theme": "changes the colours of the pages in one browser",
    "health": "monitors ask it; it says ok or not",
    "health-clock": "likewise",
    "health-queues": "monitors look here",
    "metrics": "monitors send their own token; where none is set, there is nothing",
    "api-reference": "how to use the API; it shows nothing of anybody",
    "notifications:service-worker": "a script of the pages",
    "notifications:offline": "the page for when there is no network",
    "live:socket": "no page: 426, or 401 for a script of ours",
    "notifications:answer": "whoever has the message: its link is signed",
    "notifications:unsubscribe": "whoever has the message: its link is signed",
    "notifications:unsubscribe-remove": "whoever has the message: its link is signed",
    "events:leave": "whoever has the message: its link is signed",
    "jobs:stop": "whoever has the message: its link is signed",
    "notifications:board-receive": "programs post to it: the address is the permission",
    "events:receive": "other services post to it: the address is the secret",
    "schedules:feed": "a calendar program reads it: the address is the secret",
    "watches:badge": "other pages embed it: the address is the secret",
    "watches:status": "strangers read it, where its owner publishes one",
    "watches:status-feed": "likewise",
    "watches:status-subscribe": "likewise",
    "watches:subscription": "a signed link, for a reader without an account",
    "people:refuse-address": "whoever has the mail: its link is signed",
    "people:address-undo": "whoever has the mail: its link is signed",
    "account_login": "to sign in",
    "account_signup": "to sign up",
    "account_inactive": "says that an account is closed",
    "account_email_verification_sent": "says that a mail was sent",
    "account_confirm_email": "whoever has the mail: its link is signed",
    "account_reset_password": "to have a mail sent",
    "account_reset_password_done": "says that a mail was sent",
    "account_reset_password_from_key": "whoever has the mail: its link is signed",
    "account_reset_password_from_key_done": "says that the password is new",
}
URLS = [url for url in every_url() if not url.name.startswith(("api:", "api3:"))]
OF_STAFF = [url for url in URLS if url.template.startswith("/admin/")]
OF_SOMEBODY = [url for url in URLS if url not in OF_STAFF and any(name.endswith("_id") for name in url.takes)]
PRIVATE = [url for url in URLS if url not in OF_STAFF and url.name not in OPEN]


@pytest.fixture
def stranger() -> Client:
    return signed_in()


def test_the_list_of_what_is_open_names_only_what_there_is() -> None:
    assert set(OPEN) <= {url.name for url in URLS}


def test_a_stranger_gets_404_where_the_owner_gets_an_answer(browser: Client, ada: User, stranger: Client) -> None:
    values, wrong = values_of(ada), []
    for url in OF_SOMEBODY:
        with undone():
            path = url.path(values)
            if url.name in {"schedules:restore", "events:rule-restore", "watches:restore"}:
                delete_all()
            strange = {stranger.get(path).status_code, stranger.post(path).status_code}
            own = {browser.get(path).status_code, browser.post(path).status_code}
        # Where a method is not allowed at all, 405 comes first, for everybody alike.
        if strange not in ({404}, {404, 405}) or not own & {200, 302}:
            wrong.append((url.name, strange, own))
    assert wrong == []
    assert len(OF_SOMEBODY) > 30


def test_somebody_signed_out_is_led_to_sign_in(client: Client, ada: User) -> None:
    values, wrong = values_of(ada), []
    for url in PRIVATE:
        path = url.path(values)
        led = {client.get(path).get("Location"), client.post(path).get("Location")}
        if {str(to).split("?")[0] for to in led} != {"/account/login/"}:
            wrong.append((url.name, led))
    assert wrong == []
    assert len(PRIVATE) > 60


def test_a_link_with_a_forged_signature_opens_nothing(client: Client, browser: Client, ada: User) -> None:
    values = values_of(ada)
    for url in URLS:
        if url.name in OPEN and "token" in url.takes:
            path = url.path(values)
            for anybody in (client, browser):
                for answer in (anybody.get(path), anybody.post(path, {"answer": "acknowledge", "act": "stop"})):
                    found = (answer.status_code, "This link does not work" in answer.content.decode())
                    assert found == (404, True), url.name


def test_whoever_is_no_staff_sees_nothing_of_the_admin(client: Client, stranger: Client, ada: User) -> None:
    values = values_of(ada)
    for url in OF_STAFF:
        path = url.path(values)
        for anybody in (client, stranger):
            for answer in (anybody.get(path), anybody.post(path)):
                shown = answer.content.decode()
                assert answer.status_code in {302, 403, 404, 405}, (url.name, answer.status_code)
                assert ada.email not in shown
            if url.name == "admin:logout":
                stranger.force_login(make_user())
    assert len(OF_STAFF) > 100


def test_no_list_shows_what_is_anothers(stranger: Client, ada: User) -> None:
    planted = "Adas own words"
    inbox = make_channel(ada, label=f"{planted} 1")
    make_delivery(inbox, state="delivered", settled_at="2026-06-01T12:00Z", subject=f"{planted} 2")
    schedule = make_schedule(ada, [inbox], title=f"{planted} 3")
    gone = make_schedule(ada, [inbox], title=f"{planted} 4", deleted_at="2026-06-01T12:00Z", next_fire_at=None)
    rule = make_rule(ada, channels=[inbox], name=f"{planted} 5")
    ended = make_rule(ada, channels=[inbox], name=f"{planted} 6", deleted_at="2026-06-01T12:00Z")
    event = happen(ada, type="planted.happened", data={"planted": f"{planted} 7"})
    Topic.objects.create(user=ada, slug="planted", name=f"{planted} 5")
    lists = [url.template for url in PRIVATE if not url.takes and url.name != "account_logout"]
    asked = [
        f"/history/?reminder={schedule.id}",
        f"/reminders/?deleted={gone.id}",
        f"/reminders/?q={planted}",
        f"/rules/?deleted={ended.id}",
        f"/rules/new/?event={event.key}",
        f"/inbox/?q={planted}",
        f"/channels/?q={planted}",
    ]
    for path in lists + asked:
        # What was searched for stands in the search field.
        assert planted not in stranger.get(path).getvalue().decode().replace(f'value="{planted}"', ""), path
    preview = stranger.post(f"/reminders/preview/?of={schedule.id}", {"kind": "daily", "time": "09:00"})
    assert planted not in preview.content.decode()
    preview = stranger.post(f"/rules/preview/?of={rule.id}", {"event": str(event.key), "title": "{data.planted}"})
    assert planted not in preview.content.decode()


def test_nobody_sends_to_anothers_channel(stranger: Client, ada: User) -> None:
    inbox = make_channel(ada)
    written = {"title": "Rent", "kind": "daily", "time": "09:00", "time_zone": "UTC", "channels": [str(inbox.id)]}
    assert "channels" in stranger.post("/reminders/new/", written).context["form"].errors
    assert not inbox.schedules.exists()
    written = {"name": "Orders", "type_pattern": "*", "title": "Order", "channels": [str(inbox.id)]}
    assert "channels" in stranger.post("/rules/new/", written).context["form"].errors
    assert not inbox.rules.exists()


def test_no_operation_of_the_api_answers_without_a_token(browser: Client, ada: User, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    values = values_of(ada)
    answers = {
        one.name: browser.generic(one.method, f"/api/v1{one.path(values)}").status_code for one in every_operation()
    }
    assert {name: status for name, status in answers.items() if status != 401} == {}


def test_a_strangers_token_gets_404_where_the_owners_gets_an_answer(ada: User, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    values, wrong = values_of(ada), []
    bodies, stranger, owner = bodies_of(values), Api(make_user()), Api(ada)
    for operation in every_operation():
        if not operation.takes:
            continue
        path, body = operation.path(values), bodies[operation.name] if operation.body else None
        with undone():
            if operation.name in {"restore_schedule", "restore_rule", "restore_watch"}:
                delete_all()
            strange = stranger(operation.method, path, body).status_code
            own = owner(operation.method, path, body).status_code
        # A slot that nobody has skipped is a conflict, which only its owner is told of.
        if strange != 404 or own not in {200, 201, 202, 204, 409}:
            wrong.append((operation.name, strange, own))
    assert wrong == []


def test_no_body_reaches_what_is_anothers(ada: User) -> None:
    """With the stranger's own rows in the path, and Ada's in the body."""
    hers, stranger, refused = values_of(ada), make_user(), []
    own, bodies, api = values_of(stranger), bodies_of(hers), Api(stranger)
    for operation in every_operation():
        body = bodies.get(operation.name, {})
        if str(hers["channel_id"]) in str(body):
            answer = api(operation.method, operation.path(own), body)
            assert answer.status_code == 422, operation.name
            assert answer.json()["errors"][0]["field"] in {"channel_ids", "channel_id", "rule.channel_ids"}, (
                operation.name
            )
            refused.append(operation.name)
    assert {
        "send_message",
        "subscribe",
        "replay_dead_letters",
        "create_schedule",
        "preview_schedule",
        "replace_schedule",
        "change_schedule",
        "create_rule",
        "preview_rule",
        "replace_rule",
        "change_rule",
        "create_watch",
        "replace_watch",
        "change_watch",
    } <= set(refused)
    assert not stranger.schedules.filter(channels=hers["channel_id"]).exists()


def test_no_list_of_the_api_shows_what_is_anothers(ada: User) -> None:
    planted, stranger = "Adas own words", Api(make_user())
    inbox = make_channel(ada, label=planted)
    make_delivery(inbox, state="delivered", settled_at="2026-06-01T12:00Z", subject=planted)
    make_schedule(ada, [inbox], title=planted, category="planted")
    make_rule(ada, channels=[inbox], name=planted)
    happen(ada, data={"planted": planted})
    Topic.objects.create(user=ada, slug="planted", name=planted)
    for operation in every_operation():
        if operation.method == "GET" and not operation.takes:
            answer = stranger.get(operation.path({}))
            assert (answer.status_code, planted in answer.content.decode()) == (200, False), operation.name
