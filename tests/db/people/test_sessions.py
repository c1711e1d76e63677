"""Sessions end when they should, and are found by their person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.account.signals import email_changed
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from people import tokens
from people.models import ApiToken, CalendarFeed, Session, User
from people.sign_in import sessions
from people.tasks import prune
from people.web import account_views
from schedules.agenda import feed
from tests.make import make_user, signed_in

ACTIVITY = "/settings/activity/"
SIGN_OUT = "/settings/activity/sign-out/"
PASSWORD = "tower-bell-43"


@pytest.fixture
def anna() -> User:
    user = make_user(email="anna@example.org", password=PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def enter(client: Client, user: User) -> None:
    assert client.post("/account/login/", {"login": user.email, "password": PASSWORD}).status_code == 302


def is_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def age(idle: timedelta, started: timedelta) -> None:
    Session.objects.update(seen_at=timezone.now() - idle, started_at=timezone.now() - started)


def test_a_request_with_a_key_that_was_renewed_meanwhile_signs_nobody_out(anna: User) -> None:
    client = Client()
    enter(client, anna)
    sessions.SessionStore(client.cookies["sessionid"].value).cycle_key()
    answer = client.get("/settings/")
    assert answer.status_code == 302 and "sessionid" not in answer.cookies


def test_signing_out_deletes_the_cookie(anna: User) -> None:
    client = Client()
    enter(client, anna)
    assert client.post("/account/logout/").cookies["sessionid"].value == ""


def test_a_session_names_its_person_and_browser_and_keeps_its_start(anna: User) -> None:
    client = Client(
        headers={"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\x1b"}
    )
    enter(client, anna)
    row = Session.objects.get(user=anna)
    assert (row.address, row.agent[-13:]) == ("127.0.0.1", "Firefox/140.0")
    age(timedelta(minutes=6), timedelta(days=3))
    assert is_in(client)
    again = Session.objects.get(user=anna)
    assert timezone.now() - again.seen_at < timedelta(minutes=1)
    assert timezone.now() - again.started_at > timedelta(days=2)
    assert again.expire_date > row.expire_date - timedelta(minutes=1)


def test_a_session_in_use_writes_every_few_minutes_only(anna: User) -> None:
    client = signed_in(anna)
    assert is_in(client)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert is_in(client)
    assert not [one for one in queries.captured_queries if one["sql"].startswith(("UPDATE", "INSERT"))]


@pytest.mark.parametrize(
    ("is_staff", "idle", "started", "stays"),
    [
        (False, timedelta(days=13), timedelta(days=89), True),
        (True, timedelta(hours=11), timedelta(days=6), True),
        (True, timedelta(hours=13), timedelta(days=1), False),
        (True, timedelta(minutes=1), timedelta(days=8), False),
    ],
)
def test_a_session_of_staff_ends_earlier(is_staff: bool, idle: timedelta, started: timedelta, stays: bool) -> None:
    client = signed_in(is_staff=is_staff)
    age(idle, started)
    assert is_in(client) is stays
    assert Session.objects.filter(user__isnull=False).exists() is stays


def test_use_prolongs_a_session_up_to_its_absolute_limit(anna: User) -> None:
    client = signed_in(anna)
    age(timedelta(days=1), sessions.ABSOLUTE - timedelta(hours=2))
    assert is_in(client)
    left = Session.objects.get(user=anna).expire_date - timezone.now()
    assert timedelta(hours=1) < left < timedelta(hours=3)
    Session.objects.update(expire_date=timezone.now())
    assert not is_in(client)


def test_a_session_without_anybody_lasts_a_day() -> None:
    store = sessions.SessionStore()
    store["waits"] = True
    store.save()
    assert Session.objects.get(user=None).expire_date - timezone.now() <= sessions.ANONYMOUS


def test_signing_in_as_somebody_else_begins_anew(anna: User) -> None:
    client = signed_in()
    age(timedelta(0), timedelta(days=5))
    client.logout()
    enter(client, anna)
    assert timezone.now() - Session.objects.get(user=anna).started_at < timedelta(minutes=1)


@pytest.mark.parametrize("signal", [authenticator_added, authenticator_removed, authenticator_reset, email_changed])
def test_a_changed_factor_or_address_ends_all_other_sessions(anna: User, signal: Any) -> None:
    here, other = signed_in(anna), signed_in(anna)
    request = RequestFactory().get("/")
    request.user, request.session = anna, here.session
    given: dict[str, Any] = {"authenticator": Authenticator(type="totp", user=anna, pk=1)}
    if signal is email_changed:
        given = {"from_email_address": None, "to_email_address": EmailAddress(user=anna, email=anna.email)}
    signal.send(None, request=request, user=anna, **given)
    assert (is_in(here), is_in(other)) == (True, False)


def test_a_new_password_leaves_no_other_session(anna: User) -> None:
    here, other = signed_in(anna), signed_in(anna)
    new = {"oldpassword": PASSWORD, "password1": "harbour-crane-77", "password2": "harbour-crane-77"}
    here.post("/account/reauthenticate/", {"password": PASSWORD})
    assert here.post("/account/password/change/", new).status_code == 302
    assert (is_in(here), is_in(other)) == (True, False)
    assert [row.pk for row in Session.objects.filter(user=anna)] == [here.session.session_key]


def test_signing_out_ends_the_session_and_clears_what_the_browser_has_stored(anna: User) -> None:
    client, thief = signed_in(anna), Client()
    thief.cookies["sessionid"] = client.cookies["sessionid"].value
    assert not client.get("/settings/").has_header("Clear-Site-Data")
    assert client.post("/account/logout/")["Clear-Site-Data"] == '"cache"'
    assert not Session.objects.filter(user=anna).exists()
    answer = thief.get("/settings/")  # as an open page of another browser
    assert (answer.status_code, answer["Clear-Site-Data"]) == (302, '"cache"')
    assert not Client().get("/account/login/").has_header("Clear-Site-Data")


def test_what_an_open_page_asks_by_itself_is_no_use(anna: User) -> None:
    client = signed_in(anna)
    age(timedelta(hours=11), timedelta(days=1))
    before = Session.objects.get(user=anna).seen_at
    client.get("/inbox/state/")
    client.get("/reminders/", headers={"hx-request": "true"})
    assert Session.objects.get(user=anna).seen_at == before
    client.get("/reminders/")
    assert Session.objects.get(user=anna).seen_at > before


def test_a_key_from_before_signing_in_and_one_that_is_made_up_open_nothing(anna: User) -> None:
    store = sessions.SessionStore()
    store["planted"] = True
    store.save()
    victim, thief, guess = Client(), Client(), Client()
    victim.cookies["sessionid"] = thief.cookies["sessionid"] = store.session_key
    guess.cookies["sessionid"] = "a" * 32
    enter(victim, anna)
    assert (is_in(victim), is_in(thief), is_in(guess)) == (True, False, False)
    assert not Session.objects.filter(pk__in=[store.session_key, "a" * 32]).exists()
    assert len(victim.session.session_key) * 5 >= 128  # letters and digits, 5.1 bits each


def test_an_account_that_was_switched_off_and_on_has_no_session_token_or_feed(anna: User) -> None:
    client = signed_in(anna)
    token = tokens.create(anna, "CI", ["read"], None)[1]
    feed.make(anna)
    User.objects.filter(pk=anna.pk).update(is_active=False)
    User.objects.filter(pk=anna.pk).update(is_active=True)
    assert not is_in(client)
    assert tokens.find(token) is None
    assert ApiToken.objects.get().revoked_at is not None
    assert not CalendarFeed.objects.exists()


def test_a_person_sees_where_they_are_signed_in_and_signs_out_there(anna: User) -> None:
    here, other = Client(), signed_in(anna)
    enter(here, anna)
    stranger = signed_in(password=PASSWORD)
    page = here.get(ACTIVITY)
    assert [one["is_here"] for one in page.context["signed_in"]].count(True) == 1
    assert other.session.session_key not in page.content.decode()
    [there] = [one["handle"] for one in page.context["signed_in"] if not one["is_here"]]
    assert stranger.post(SIGN_OUT, {"session": there})["Location"].startswith("/account/reauthenticate/")
    stranger.post("/account/reauthenticate/", {"password": PASSWORD})
    stranger.post(SIGN_OUT, {"session": there})
    assert is_in(other)
    here.post("/account/reauthenticate/", {"password": PASSWORD})
    assert here.post(SIGN_OUT, {"session": there})["Location"] == ACTIVITY
    assert (is_in(here), is_in(other), is_in(stranger)) == (True, False, True)


def test_signing_out_everywhere_else_takes_the_password_first(anna: User) -> None:
    thief, owner = signed_in(anna), Client()
    enter(owner, anna)
    assert thief.post(SIGN_OUT)["Location"].startswith("/account/reauthenticate/")
    assert is_in(owner)
    owner.post("/account/reauthenticate/", {"password": PASSWORD})
    owner.post(SIGN_OUT)
    assert (is_in(owner), is_in(thief)) == (True, False)


def test_confirming_who_one_is_gives_the_session_a_new_key(anna: User) -> None:
    client, thief = signed_in(anna), Client()
    thief.cookies["sessionid"] = client.session.session_key
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    assert (is_in(client), is_in(thief)) == (True, False)


def test_operators_sign_people_out(operator: Client, anna: User) -> None:
    client = signed_in(anna)
    operator.post("/admin/people/user/", {"action": "sign_out", "_selected_action": [str(anna.pk)]})
    assert not is_in(client)


def test_expired_sessions_are_deleted(anna: User) -> None:
    client = signed_in(anna)
    for _ in range(3):
        signed_in(anna)
    Session.objects.exclude(pk=client.session.session_key).update(expire_date=timezone.now() - timedelta(days=1))
    assert prune() == 3
    assert is_in(client)


def test_a_persons_sessions_are_found_by_an_index(anna: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN SELECT * FROM people_session WHERE user_id = %s", [anna.pk])
        assert "people_session_user_id" in " ".join(row[0] for row in cursor.fetchall())


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge, Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Safari/604",
            "Safari, iPhone",
        ),
        ("curl/8.5", ""),
        ("", ""),
    ],
)
def test_browsers_have_names(agent: str, name: str) -> None:
    assert account_views.browser(agent) == name
