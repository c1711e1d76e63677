"""Teams: who may act for them, what each role may do, and what ends when somebody leaves."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from api.resources.transfer import load
from common.forms.not_possible import NotPossible
from people import tasks, teams, tokens
from people.access.acting import NOT_FOR_VIEWERS
from people.account import deletion
from people.models import ApiToken, CalendarFeed, CallOverride, Invitation, Membership, Role, SecurityEvent, User
from people.teams import on_call
from people.user_lock import Busy
from schedules.agenda import feed
from schedules.models import Schedule, ScheduleEvent
from tests.db.conftest import undone
from tests.db.every_url import every_operation, every_url, values_of
from tests.db.test_ownership import OF_SOMEBODY, OPEN
from tests.make import make_channel, make_delivery, make_schedule, make_user, make_watch, signed_in


def join(team: User, role: str = Role.MEMBER, **overrides: object) -> Membership:
    return Membership.objects.create(team=team, person=make_user(**overrides), role=role)


def acting(person: User, team: User) -> Client:
    client = signed_in(person)
    assert client.post("/teams/act/", {"team": team.pk}).status_code == 302
    return client


@pytest.fixture
def team(ada: User) -> User:
    return teams.create(ada, "Family")


def confirmed() -> User:
    """Somebody who has confirmed their address."""
    person = make_user()
    EmailAddress.objects.create(user=person, email=person.email, verified=True)
    return person


def membership(person: User, team: User) -> Membership:
    found = teams.find_membership(person, team.pk)
    assert found is not None
    return found


def test_somebody_makes_a_team_and_owns_it(ada: User, browser: Client) -> None:
    page = browser.post("/teams/", {"name": "Family"}, follow=True)
    assert "Acting for" in page.content.decode()
    own = Membership.objects.get()
    assert (own.person, own.role, own.team.name, own.team.is_team) == (ada, "owner", "Family", True)
    assert set(own.team.channels.values_list("provider", flat=True)) == {"inbox", "team"}


def test_a_team_cannot_sign_in(team: User, client: Client) -> None:
    assert not team.has_usable_password()
    client.post("/account/login/", {"login": team.email, "password": ""})
    assert "_auth_user_id" not in client.session
    client.post("/account/password/reset/", {"email": team.email})
    team.is_staff = True
    with pytest.raises(Exception, match="people_user_team"):
        team.save()


def test_what_is_made_while_acting_for_a_team_is_the_teams(ada: User, team: User) -> None:
    member = join(team, name="Bob").person
    browser = acting(member, team)
    channel = team.channels.get(provider="inbox")
    typed = {"title": "Bins", "kind": "daily", "time": "09:00", "time_zone": "UTC", "channels": [str(channel.id)]}
    assert browser.post("/reminders/new/", typed).status_code == 302
    schedule = Schedule.objects.get()
    assert (schedule.user, ScheduleEvent.objects.get().by) == (team, member)
    assert "Bins" in browser.get("/reminders/").content.decode()
    assert "Bins" in acting(ada, team).get("/reminders/").content.decode()
    browser.post("/teams/act/")
    assert "Bins" not in browser.get("/reminders/").content.decode()


def test_the_address_of_a_team_is_offered_as_no_channel(ada: User, team: User) -> None:
    assert team.email not in acting(ada, team).get("/channels/").content.decode()


def test_a_form_of_another_tab_is_refused_after_the_switch(ada: User, team: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = signed_in(ada).cookies
    page = browser.get("/teams/").content.decode()
    before = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]
    switch = {"team": team.pk, "csrfmiddlewaretoken": before}
    assert browser.post("/teams/act/", switch).status_code == 302
    assert browser.post("/reminders/quick/add/", {"csrfmiddlewaretoken": before}).status_code == 403


def test_a_removed_member_is_refused_at_the_next_request(ada: User, team: User) -> None:
    member = join(team)
    browser = acting(member.person, team)
    assert browser.get("/reminders/").context["request"].user == team
    teams.remove(membership(ada, team), member.id)
    for _ in range(2):  # two open pages that ask by themselves
        assert "no longer a member" in browser.get("/inbox/state/").content.decode()
    refused = browser.get("/reminders/")
    assert refused.status_code == 403
    assert "no longer a member" in refused.content.decode()
    assert browser.get("/reminders/").context["request"].user == member.person


def test_a_removed_member_who_clicks_acts_for_themself_again(ada: User, team: User) -> None:
    member = join(team)
    browser = acting(member.person, team)
    teams.remove(membership(ada, team), member.id)
    assert browser.post("/inbox/read/", headers={"HX-Request": "true"}).status_code == 403
    page = browser.get("/reminders/")
    assert (page.status_code, page.context["request"].user) == (200, member.person)


def test_the_home_page_takes_a_removed_member_to_their_own_reminders(ada: User, team: User) -> None:
    """The page that says that they were removed leads there."""
    member = join(team)
    browser = acting(member.person, team)
    teams.remove(membership(ada, team), member.id)
    assert browser.get("/inbox/state/").status_code == 403
    assert browser.get("/", follow=True).context["request"].user == member.person


def test_tokens_and_the_calendar_address_end_with_the_membership(ada: User, team: User, client: Client) -> None:
    member = join(team)
    acted = membership(member.person, team).team
    row, token = tokens.create(acted, "Script", ["read", "schedules", "settings"], None)
    address = feed.url(feed.make(team))
    assert row.member == member.person
    found = tokens.find(token)
    assert found is not None
    assert (found.user, found.user.actor, found.scopes) == (team, member.person, ["read", "schedules"])
    assert client.get(address).status_code == 200
    owner = membership(ada, team)
    teams.change_role(owner, member.id, Role.VIEWER)
    found = tokens.find(token)
    assert found is not None
    assert found.scopes == ["read"]
    teams.remove(owner, member.id)
    assert tokens.find(token) is None
    assert ApiToken.objects.get().revoked_at is not None
    assert client.get(address).status_code == 404
    assert not CalendarFeed.objects.exists()


def test_a_token_of_a_team_that_is_no_members_is_not_valid(ada: User, team: User) -> None:
    _, token = tokens.create(membership(ada, team).team, "Script", ["read"], None)
    assert tokens.find(token) is not None
    ApiToken.objects.update(member=None)
    assert tokens.find(token) is None


def test_a_member_who_is_switched_off_has_no_access(team: User) -> None:
    member = join(team)
    _, token = tokens.create(membership(member.person, team).team, "Script", ["read"], None)
    feed.make(team)
    member.person.is_active = False
    member.person.save()
    assert tokens.find(token) is None
    assert not CalendarFeed.objects.exists()


def owned_by(team: User) -> dict[str, object]:
    """As `values_of`; the parameters of pages of teams name this team."""
    team.channels.all().delete()  # it makes an inbox itself
    invitation = Invitation(team=team, role="member", hashed="0" * 64, expires_at=timezone.now() + Invitation.LIFE)
    invitation.save()
    own = {"team_id": team.pk, "member_id": join(team).id, "invitation_id": invitation.id}
    return values_of(team) | own


ABOUT_THE_PERSON = {"account_email", "mfa_index", "people:activity", "people:account-delete"}


def test_pages_about_the_person_never_see_the_team(ada: User, team: User) -> None:
    values, browser, seen = owned_by(team), acting(ada, team), {}
    for url in every_url():
        if url.name.startswith(("api:", "api3:")) or url.name == "account_logout" or url.template.startswith("/admin/"):
            continue
        with undone():
            response = browser.get(url.path(values))
        if response.context is not None and "request" in response.context:
            seen[url.name] = response.context["request"].user
    persons = {name for name, user in seen.items() if user == ada}
    begin = ("account_", "mfa_", "people:team", "people:invitation", "openid")
    about = {name for name in seen if name.startswith(begin)} | {"people:account-delete", "people:activity"}
    assert persons - set(OPEN) == about - set(OPEN)
    assert persons >= ABOUT_THE_PERSON
    assert len([user for user in seen.values() if user == team]) > 40


def test_a_viewer_changes_nothing(team: User) -> None:
    viewer = join(team, Role.VIEWER).person
    values, browser, wrong = owned_by(team), acting(viewer, team), []
    own = ("account_", "mfa_", "people:team", "people:invitation", "people:activity", "people:sign-out", "admin:")
    others = {*OPEN, "people:act", "people:account-delete", "security-keys"}
    for url in every_url():
        if url.name.startswith(("api:", "api3:", *own)) or url.name in others or url.template.startswith("/admin/"):
            continue
        with undone():
            refused = browser.post(url.path(values))
            if refused.status_code != 403 or not re.search("viewer of this team|Only owners", refused.content.decode()):
                wrong.append((url.name, refused.status_code))
    assert wrong == []


def test_a_viewers_token_reads_only(ada: User, team: User, client: Client, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    viewer = join(team).person
    _, token = tokens.create(membership(viewer, team).team, "Script", tokens.GIVEN, None)
    teams.change_role(membership(ada, team), membership(viewer, team).id, Role.VIEWER)
    values, wrong = owned_by(team), []
    for one in every_operation():
        if one.method == "GET" or one.name in {"preview_schedule", "preview_rule", "quick_add_schedule"}:
            continue  # they read
        path = "/api/v1" + one.path(values)
        answer = client.generic(
            one.method, path, "{}", content_type="application/json", headers={"Authorization": f"Bearer {token}"}
        )
        if answer.status_code != 403:
            wrong.append((one.name, answer.status_code))
    assert wrong == []
    assert client.get("/api/v1/schedules", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_a_viewers_token_shows_no_secret_address(ada: User, team: User, client: Client) -> None:
    viewer, watch = join(team).person, make_watch(team, [], slug="backup")
    _, token = tokens.create(membership(viewer, team).team, "Script", ["read"], None)
    headers = {"Authorization": f"Bearer {token}", "X-Api-Key": token}
    paths = ["/api/v1/watches", f"/api/v1/watches/{watch.id}", "/api/v1/badges", "/api/v1/status-pages"]
    paths.append("/api/v3/checks/")
    before = [client.get(path, headers=headers) for path in paths]
    teams.change_role(membership(ada, team), membership(viewer, team).id, Role.VIEWER)
    after = [client.get(path, headers=headers) for path in paths]
    assert [one.status_code for one in before] == [200] * 5
    assert [one.status_code for one in after] == [200, 200, 403, 403, 403]
    secret = str(watch.token)
    assert [secret in one.content.decode() for one in (*before, *after)] == [True, True, False, False, True] + [
        False
    ] * 5


def test_a_former_member_and_a_stranger_reach_nothing_of_a_team(ada: User, team: User, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    member, values, wrong = join(team), owned_by(team) | {"team_id": team.pk}, []
    former, stranger = acting(member.person, team), signed_in()
    _, token = tokens.create(membership(member.person, team).team, "Script", tokens.GIVEN, None)
    teams.remove(membership(ada, team), member.id)
    assert former.get("/reminders/").status_code == 403  # says so once
    for url in OF_SOMEBODY:
        for name, browser in (("former", former), ("stranger", stranger)):
            with undone():
                answers = {browser.get(url.path(values)).status_code, browser.post(url.path(values)).status_code}
            if not {404} <= answers <= {404, 405}:
                wrong.append((url.name, name, answers))
    assert wrong == []
    client = Client()
    for one in every_operation():
        path, headers = "/api/v1" + one.path(values), {"Authorization": f"Bearer {token}"}
        answer = client.generic(one.method, path, "{}", content_type="application/json", headers=headers)
        assert answer.status_code == 401, one.name


def test_a_page_of_another_account_of_theirs_offers_to_act_for_it(ada: User, team: User) -> None:
    pages = [f"/reminders/{make_schedule(team, channels=[]).id}/explain/", f"/boards/{make_channel(team, 'board').id}/"]
    pages.append(f"/history/{make_delivery(make_channel(team, 'email')).notification_id}/")
    pages.append(f"/inbox/{make_delivery(team.channels.get(provider='inbox'), state='delivered').id}/")
    browser, own = signed_in(ada), f"/reminders/{make_schedule(ada).id}/"
    for path in pages:
        page = browser.get(path)
        assert page.status_code == 404
        assert "Act for Family" in page.content.decode()
        answer = browser.post("/teams/act/", {"team": team.pk, "next": path}, follow=True)
        assert (answer.redirect_chain[-1][0], answer.status_code) == (path, 200)
        assert "Act for yourself" in browser.get(own).content.decode()
        assert browser.post("/teams/act/", {"next": own})["Location"] == own
        assert browser.get(own).status_code == 200
    member = join(team)
    teams.remove(membership(ada, team), member.id)
    for other in (signed_in(member.person), signed_in()):
        for path in [*pages, own]:
            page = other.get(path)
            assert (page.status_code, "Act for" in page.content.decode()) == (404, False)


@pytest.mark.parametrize("path", ["https://other.example/", "//other.example/", "x", ""])
def test_after_the_switch_nobody_is_led_to_another_site(ada: User, team: User, path: str) -> None:
    assert signed_in(ada).post("/teams/act/", {"team": team.pk, "next": path})["Location"] == "/reminders/"


def test_a_viewer_sees_all_pages_but_secrets_and_forms(team: User) -> None:
    values, browser, refused = owned_by(team), acting(join(team, Role.VIEWER).person, team), set()
    for url in OF_SOMEBODY:
        with undone():
            status = browser.get(url.path(values)).status_code
        assert status in {200, 302, 403, 404, 405}, (url.name, status)
        if status == 403:
            refused.add(url.name)
    assert refused == NOT_FOR_VIEWERS & {url.name for url in OF_SOMEBODY}
    secrets = {"notifications:channel-secret", "schedules:feed-address", "events:inbound", "people:token-new"}
    urls = [url for url in every_url() if url.name in secrets]
    assert {url.name for url in urls} == secrets
    assert {browser.get(url.path(values)).status_code for url in urls} == {403}


def test_only_owners_export_and_change_the_settings(ada: User, team: User) -> None:
    person = join(team).person
    browser = acting(person, team)
    imported = load.load(membership(person, team).team, {"settings": {"name": "Theirs"}})
    assert [one.section for one in imported.troubles] == ["settings"]
    assert browser.get("/settings/").status_code == 200
    assert browser.post("/settings/", {"name": "Ours"}).status_code == 403
    assert browser.get("/settings/download/").status_code == 403
    assert browser.get("/settings/export/").status_code == 403
    team.refresh_from_db()
    assert team.name == "Family"
    owner = acting(ada, team)
    assert owner.post("/settings/", {"name": "Ours", "time_zone": "Europe/Paris"}).status_code == 302
    team.refresh_from_db()
    assert (team.name, team.time_zone) == ("Ours", "Europe/Paris")


def test_an_invitation_by_a_link_works_once(ada: User, team: User, browser: Client) -> None:
    page = browser.post(f"/teams/{team.pk}/", {"role": "viewer", "address": ""})
    path = page.context["link"].removeprefix("http://127.0.0.1:8000")
    bob, eve = make_user(name="Bob"), make_user(name="Eve")
    assert "Family" in signed_in(bob).get(path).content.decode()
    assert not Membership.objects.filter(person=bob).exists()
    assert signed_in(bob).post(path).status_code == 302
    assert Membership.objects.get(person=bob).role == Role.VIEWER
    assert signed_in(eve).post(path).status_code == 404
    assert not Membership.objects.filter(person=eve).exists()


def test_strangers_hear_that_they_sign_in_for_an_invitation(team: User, client: Client) -> None:
    _, secret = teams.invite(Membership.objects.get(), Role.MEMBER)
    page = client.get(f"/teams/join/{secret}/", follow=True).content.decode()
    assert "to accept the invitation" in page
    assert f"next=%2Fteams%2Fjoin%2F{secret}%2F" in page  # also of those who sign up


def test_an_invitation_promises_reminders_to_all_but_viewers(ada: User, team: User) -> None:
    own, stranger = membership(ada, team), signed_in()
    for role, told in ((Role.OWNER, True), (Role.MEMBER, True), (Role.VIEWER, False)):
        page = stranger.get(f"/teams/join/{teams.invite(own, role)[1]}/").content.decode()
        assert ("reach you on your own channels" in page) is told


def test_an_invitation_to_an_address_is_for_who_has_confirmed_it(team: User, browser: Client) -> None:
    browser.post(f"/teams/{team.pk}/", {"role": "member", "address": "Bob@example.org"})
    [message] = mail.outbox
    path = re.findall(r"http://127.0.0.1:8000(/teams/join/\S+)", message.body)[0]
    bob, eve = make_user(email="bob@example.org"), make_user()
    entered = EmailAddress.objects.create(user=bob, email=bob.email, verified=False)
    assert signed_in(bob).post(path).status_code == 404  # not confirmed yet
    assert not teams.invitations_of(bob).exists()
    EmailAddress.objects.filter(pk=entered.pk).update(verified=True)
    assert signed_in(eve).post(path).status_code == 404
    page = signed_in(bob).get("/teams/").content.decode()
    [accept] = re.findall(r'action="(/teams/invitations/\S+/accept/)"', page)
    assert signed_in(eve).post(accept).status_code == 404
    assert signed_in(bob).post(accept).status_code == 302
    assert Membership.objects.get(person=bob).role == Role.MEMBER


def test_an_expired_or_withdrawn_invitation_does_not_work(ada: User, team: User, browser: Client) -> None:
    old, secret = teams.invite(membership(ada, team), Role.MEMBER)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=2))
    stranger = signed_in()
    assert stranger.post(f"/teams/join/{secret}/").status_code == 404
    with pytest.raises(NotPossible):
        teams.accept(make_user(), old)
    assert tasks.prune() == 1
    row, secret = teams.invite(membership(ada, team), Role.MEMBER)
    assert browser.post(f"/teams/{team.pk}/invitations/{row.id}/").status_code == 302
    assert stranger.post(f"/teams/join/{secret}/").status_code == 404


def test_another_invitation_to_an_address_takes_the_place_of_the_first(ada: User, team: User) -> None:
    bob, own = confirmed(), membership(ada, team)
    first, second = (teams.invite(own, role, bob.email)[1] for role in (Role.OWNER, Role.VIEWER))
    assert teams.find_invitation(bob, first) is None
    found = teams.find_invitation(bob, second)
    assert found is not None and found.role == Role.VIEWER
    assert Invitation.objects.count() == 1


@pytest.mark.parametrize("end", ["removed", "demoted", "switched off"])
def test_an_invitation_ends_with_the_owner_who_made_it(ada: User, team: User, end: str) -> None:
    member, bob, carol = join(team, Role.OWNER), confirmed(), make_user()
    own = membership(member.person, team)
    _, secret = teams.invite(own, Role.OWNER)
    teams.invite(own, Role.OWNER, bob.email)
    shown = teams.find_invitation(carol, secret)
    assert shown is not None and teams.invitations_of(bob).count() == 1
    if end == "removed":
        teams.remove(membership(ada, team), member.id)
    elif end == "demoted":
        teams.change_role(membership(ada, team), member.id, Role.MEMBER)
    else:
        User.objects.filter(pk=member.person_id).update(is_active=False)
    assert teams.find_invitation(carol, secret) is None
    assert not teams.invitations_of(bob).exists()
    assert not teams.open_invitations(team).exists()
    with pytest.raises(NotPossible):
        teams.accept(carol, shown)


def test_an_invitation_is_offered_until_it_is_over_and_its_team_deleted(ada: User, team: User) -> None:
    bob = confirmed()
    row, secret = teams.invite(membership(ada, team), Role.MEMBER, bob.email)
    for hours, is_open in ((1, True), (-1, False)):
        Invitation.objects.update(expires_at=timezone.now() + timedelta(hours=hours))
        assert list(teams.invitations_of(bob)) == [row] * is_open
        assert (teams.find_invitation(bob, secret) is not None) is is_open
        assert tasks.prune() == 0  # the list of the team shows it for another day
    Invitation.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    User.objects.filter(pk=team.pk).update(is_active=False)
    assert teams.find_invitation(bob, secret) is None
    assert not teams.invitations_of(bob).exists()


def test_an_owner_who_is_switched_off_does_not_keep_a_team(ada: User, team: User) -> None:
    join(team, Role.OWNER, is_active=False)
    with pytest.raises(NotPossible):
        teams.leave(membership(ada, team))


def test_whoever_becomes_a_viewer_is_no_longer_on_call_not_even_as_a_member_again(ada: User, team: User) -> None:
    own, member, now = membership(ada, team), join(team), timezone.now()
    Membership.objects.filter(id=member.id).update(call_place=1)
    CallOverride.objects.create(member=member, begins_at=now, ends_at=now + timedelta(days=1))
    assert on_call.to_ask(team, now, urgent=True) == [member.person]
    for role in (Role.VIEWER, Role.MEMBER):
        teams.change_role(own, member.id, role)
        assert on_call.to_ask(team, now, urgent=True) == []
    member.refresh_from_db()
    assert (member.call_place, member.overrides.count()) == (None, 0)


def test_a_token_of_an_owner_who_became_a_member_changes_no_settings(ada: User, team: User) -> None:
    second = join(team, Role.OWNER)
    _, token = tokens.create(membership(second.person, team).team, "Script", tokens.GIVEN, None)
    teams.change_role(membership(ada, team), second.id, Role.MEMBER)
    found = tokens.find(token)
    assert found is not None
    assert set(found.scopes) == {*tokens.GIVEN} - {"settings"}


def test_the_last_owner_stays(ada: User, team: User) -> None:
    own, member = membership(ada, team), join(team)
    with pytest.raises(NotPossible):
        teams.leave(own)
    with pytest.raises(NotPossible):
        teams.change_role(own, own.id, Role.MEMBER)
    with pytest.raises(NotPossible):
        deletion.request(ada)
    ada.refresh_from_db()
    assert ada.is_active
    teams.change_role(own, member.id, Role.OWNER)
    deletion.request(ada)
    assert Membership.objects.get().person == member.person


def test_the_last_owner_of_a_team_that_is_being_deleted_may_go(ada: User, team: User) -> None:
    User.objects.filter(pk=team.pk).update(is_active=False)
    deletion.request(ada)
    ada.refresh_from_db()
    assert not ada.is_active


def test_whoever_was_removed_as_an_owner_removes_nobody(ada: User, team: User) -> None:
    first, second = membership(ada, team), join(team, Role.OWNER)
    teams.remove(first, second.id)
    second.team.acting = None
    with pytest.raises(NotPossible, match="no longer an owner"):
        teams.remove(second, first.id)
    assert Membership.objects.get().person == ada


def at_once(*calls: Callable[[], object]) -> None:
    """Each in its own connection. A refusal is fine, or a lock for which a call waited too long."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        try:
            start.wait(30)
            with suppress(NotPossible, Busy):
                call()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(one,)) for one in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def post_at_once(posts: list[tuple[Client, str]], body: dict[str, str]) -> list[int]:
    """Return the status of each answer. The requests run at the same time, each with its own connection."""
    answers: list[int] = []

    def post(client: Client, path: str) -> None:
        answers.append(client.post(path, body, follow=True).status_code)

    at_once(*(partial(post, *one) for one in posts))
    return answers


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("body", [{"remove": ""}, {"role": "viewer"}], ids=["remove", "demote"])
def test_of_two_owners_who_remove_each_other_at_the_same_time_one_stays(ada: User, body: dict[str, str]) -> None:
    """Several times, so that either is faster."""
    for _ in range(5):
        team = teams.create(ada, "Family")
        owners, member = [membership(ada, team), join(team, Role.OWNER)], join(team)
        paths = [f"/teams/{team.pk}/members/{one.id}/" for one in reversed(owners)]
        clients = [acting(one.person, team) for one in owners]
        answers = post_at_once(list(zip(clients, paths, strict=True)), body)
        assert set(answers) <= {200, 403, 404, 409} and len(answers) == 2  # in words, not 500
        assert Membership.objects.filter(team=team, role=Role.OWNER).count() == 1
        member.refresh_from_db()
        assert member.role == Role.MEMBER


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_the_same_time_one_stays(ada: User) -> None:
    for _ in range(5):
        team = teams.create(ada, "Family")
        clients = [acting(one.person, team) for one in (membership(ada, team), join(team, Role.OWNER))]
        answers = post_at_once([(one, f"/teams/{team.pk}/leave/") for one in clients], {})
        assert set(answers) <= {200, 409} and len(answers) == 2
        assert Membership.objects.filter(team=team, role=Role.OWNER).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_whose_accounts_end_at_the_same_time_one_stays() -> None:
    for _ in range(5):
        owners = [make_user(), make_user()]
        team = teams.create(owners[0], "Family")
        Membership.objects.create(team=team, person=owners[1], role=Role.OWNER)
        at_once(*(partial(deletion.request, one) for one in owners))
        [left] = Membership.objects.filter(team=team)
        assert left.person.is_active
        assert sorted(User.objects.filter(pk__in=[one.pk for one in owners]).values_list("is_active", flat=True)) == [
            False,
            True,
        ]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_one_link_at_the_same_time_one_joins(ada: User) -> None:
    for _ in range(5):
        team = teams.create(ada, "Family")
        path = f"/teams/join/{teams.invite(membership(ada, team), Role.MEMBER)[1]}/"
        answers = post_at_once([(signed_in(make_user()), path) for _ in range(3)], {})
        assert set(answers) <= {200, 404, 409} and len(answers) == 3
        assert Membership.objects.filter(team=team).count() == 2


def test_an_account_ends_also_where_its_person_is_removed_meanwhile(
    team: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = join(team).person

    def removed_while_this_waits(_: User) -> None:
        Membership.objects.filter(person=bob).delete()

    monkeypatch.setattr(teams, "lock_in_transaction", removed_while_this_waits)
    deletion.request(bob)
    bob.refresh_from_db()
    assert not bob.is_active


def test_what_a_member_does_for_a_team_is_among_their_own_events(ada: User, team: User) -> None:
    tokens.create(membership(ada, team).team, "CI", ["read"], None)
    event = SecurityEvent.objects.latest("id")
    assert (event.type, event.user, event.detail["team"]) == ("token-made", ada, "Family")


def test_what_a_member_made_stays_with_the_team(ada: User, team: User) -> None:
    member = join(team).person
    make_schedule(membership(member, team).team, [make_channel(team, "webhook")], title="Bins")
    deletion.request(member)
    assert deletion.delete_requested() == 1
    assert Schedule.objects.get().user == team


def test_a_deleted_team_is_gone_for_all(ada: User, team: User) -> None:
    member = acting(join(team).person, team)
    owner, path = signed_in(ada), f"/teams/{team.pk}/delete/"
    assert "This is not the name of the team." in owner.post(path, {"name": "Other"}).content.decode()
    assert member.get("/reminders/").status_code == 200
    assert owner.post(path, {"name": "Family"})["Location"] == "/teams/"
    assert member.get("/reminders/").status_code == 403
    assert deletion.delete_requested() == 1
    assert not Membership.objects.exists()
    assert User.objects.filter(pk=ada.pk).exists()


def test_how_many_teams_and_members_there_may_be(ada: User, team: User, settings: Settings) -> None:
    settings.MOST_TEAMS = settings.MOST_MEMBERS = 1
    with pytest.raises(NotPossible):
        teams.create(ada, "Other")
    own = membership(ada, team)
    row, _ = teams.invite(own, Role.MEMBER)
    with pytest.raises(NotPossible):
        teams.accept(make_user(), row)
    assert Membership.objects.count() == 1
    for _ in range(teams.MOST_INVITATIONS - 1):
        teams.invite(own, Role.MEMBER)
    with pytest.raises(NotPossible, match="invitations are open"):
        teams.invite(own, Role.MEMBER)


def test_nobody_becomes_the_owner_of_more_teams_by_an_invitation_or_a_role(
    ada: User, team: User, settings: Settings
) -> None:
    settings.MOST_TEAMS = 1
    bob, own = make_user(name="Bob"), membership(ada, team)
    teams.create(bob, "His")
    row, _ = teams.invite(own, Role.OWNER)
    with pytest.raises(NotPossible, match="“Bob” owns 1 teams"):
        teams.accept(bob, row)
    member = Membership.objects.create(team=team, person=bob, role=Role.MEMBER)
    with pytest.raises(NotPossible, match="“Bob” owns 1 teams"):
        teams.change_role(own, member.id, Role.OWNER)
    member.refresh_from_db()
    assert (member.role, Invitation.objects.count()) == (Role.MEMBER, 1)


def test_a_member_uses_up_no_invitation(ada: User, team: User, browser: Client) -> None:
    row, secret = teams.invite(membership(ada, team), Role.VIEWER)
    for answer in (browser.get(f"/teams/join/{secret}/"), browser.post(f"/teams/join/{secret}/")):
        assert (answer.status_code, answer["Location"]) == (302, f"/teams/{team.pk}/")
    assert teams.accept(ada, row).role == Role.OWNER
    assert Invitation.objects.filter(id=row.id).exists()


def test_members_see_no_controls_of_owners(team: User) -> None:
    member = join(team).person
    other = join(team)
    browser = signed_in(member)
    page = browser.get(f"/teams/{team.pk}/").content.decode()
    assert "Invite somebody" not in page
    for path in (f"members/{other.id}/", "delete/"):
        assert browser.post(f"/teams/{team.pk}/{path}", {"remove": "", "name": "Family"}).status_code == 404
    assert browser.post(f"/teams/{team.pk}/", {"role": "owner"}).status_code == 403
    assert not Invitation.objects.exists()


def test_viewers_change_nothing_on_the_pages_of_their_team(ada: User, team: User) -> None:
    viewer, other = join(team, Role.VIEWER), join(team)
    row, _ = teams.invite(membership(ada, team), Role.MEMBER)
    paths = {"": 403, "on-call/": 403, "delete/": 404, f"members/{other.id}/": 404, f"invitations/{row.id}/": 404}
    paths[f"members/{viewer.id}/"] = 404
    body = {"act": "override", "member": str(viewer.id), "name": "Family", "remove": "", "role": "owner"}
    for path, status in paths.items():
        for browser in (signed_in(viewer.person), acting(viewer.person, team)):
            assert browser.post(f"/teams/{team.pk}/{path}", body).status_code == status, path
    team.refresh_from_db()
    viewer.refresh_from_db()
    assert (team.is_active, viewer.role, viewer.overrides.exists()) == (True, Role.VIEWER, False)
    assert (Invitation.objects.count(), Membership.objects.count()) == (1, 3)


@pytest.mark.parametrize("posted", ["", "x", "-1", "9" * 30, "\u0663"])
def test_who_asks_for_no_team_goes_on_acting_for_the_same(ada: User, team: User, posted: str) -> None:
    browser = acting(ada, team)
    assert browser.post("/teams/act/", {"team": posted}).status_code == 404
    assert browser.get("/reminders/").context["request"].user == team


def test_a_role_that_does_not_exist_is_refused(team: User, browser: Client) -> None:
    member = join(team)
    page = browser.post(f"/teams/{team.pk}/members/{member.id}/", {"role": "king"}, follow=True)
    assert "Choose one of the roles listed." in page.content.decode()


@pytest.mark.parametrize("name", ["", "x" * 151, "a\0b", "a\u202eb", "a\nb\u2028"])
def test_a_team_needs_a_name_that_can_be_shown(browser: Client, name: str) -> None:
    assert browser.post("/teams/", {"name": name}).context["form"].errors["name"]
    assert not Membership.objects.exists()


def test_a_team_gets_no_name_that_turns_what_follows(ada: User, team: User) -> None:
    page = acting(ada, team).post("/settings/", {"name": "Ours\u202e", "time_zone": "Europe/Paris"})
    assert page.context["form"].errors.keys() == {"name"}
