"""A message to a team: each member gets it on their own channels, and one answer ends it for all."""

from __future__ import annotations

from dataclasses import replace
from datetime import time, timedelta
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from common.forms.not_possible import NotPossible
from notifications.channels import changes
from notifications.deliveries import acknowledge
from notifications.deliveries.kind import DELIVERY
from notifications.messages.message import Delivered
from notifications.models import Channel, Delivery, Notification
from people import teams
from people.models import Membership, Role, User
from tests.make import finish, make_channel, make_delivery, make_user, send_now, signed_in, taken

TEAM = Notification.Origin.TEAM


@pytest.fixture
def team(ada: User) -> User:
    changes.add(ada, "inbox", {})
    return teams.create(ada, "Family")


def join(team: User, role: str = Role.MEMBER, **overrides: object) -> User:
    person = make_user(**overrides)
    changes.add(person, "inbox", {})
    Membership.objects.create(team=team, person=person, role=role)
    return person


def ring(team: User, **overrides: object) -> Notification:
    """A reminder of the team, sent to its members."""
    delivery = make_delivery(team.channels.get(provider="team"), origin="schedule", **overrides)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.state == "delivered"
    return delivery.notification


def told(whole: Notification) -> list[User]:
    return [one.user for one in Notification.objects.filter(batch_id=whole.id, origin=TEAM).order_by("user_id")]


def test_each_member_gets_it_on_their_own_channels(ada: User, team: User, published: list[UUID]) -> None:
    bob = join(team)
    hook = make_channel(bob, "webhook", use_for_new=True)
    make_channel(bob, "webhook", use_for_new=False)
    make_channel(bob, "queue", use_for_new=True)
    whole = ring(team, subject="Bins")
    assert told(whole) == [ada, bob]
    [of_ada] = Delivery.objects.filter(notification__user=ada)
    assert (of_ada.provider, of_ada.notification.subject) == ("inbox", "Bins")
    assert {one.channel for one in Delivery.objects.filter(notification__user=bob)} == {
        hook,
        bob.channels.get(provider="inbox"),
    }
    assert set(published) == set(Delivery.objects.filter(state="pending").values_list("id", flat=True))


def test_a_message_that_reaches_no_member_fails_and_says_so(ada: User, team: User) -> None:
    viewer = join(team, Role.VIEWER)
    delivery = make_delivery(team.channels.get(provider="team"), origin="schedule")
    ada.channels.update(use_for_new=False)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == ("dead", "nobody-to-tell")
    assert not Notification.objects.filter(user__in=[ada, viewer]).exists()


def test_members_read_what_is_bold_and_for_which_team_it_is(ada: User, team: User, browser: Client) -> None:
    ring(team, subject="Bins", body="The **blue** one")
    [own] = Delivery.objects.filter(notification__user=ada, provider="inbox")
    send_now(own.id)
    page = browser.get(f"/inbox/{own.id}/").content.decode()
    assert "<strong>blue</strong>" in page and "Family ·" in page
    assert "Family</p>" in browser.get("/inbox/").content.decode()
    assert "team Family" in browser.get(f"/history/{own.notification_id}/").content.decode()


def test_mails_say_from_which_team_they_are(ada: User, team: User) -> None:
    """To a member, and to the address of the team; not those of the member's own reminders."""
    channel = make_channel(ada, "email", use_for_new=True)
    whole = ring(team)
    send_now(Delivery.objects.get(notification__batch_id=whole.id, channel=channel).id)
    send_now(make_delivery(make_channel(team, "email", address={"address": "family@example.org"})).id)
    send_now(make_delivery(channel).id)
    assert ["From the team “Family”" in str(sent.body) for sent in mail.outbox] == [True, True, False]


def test_what_a_program_sends_to_a_team_stays_as_it_is(ada: User, team: User, browser: Client) -> None:
    delivery = make_delivery(team.channels.get(provider="team"), origin="api", body="The **blue** one")
    send_now(delivery.id)
    [own] = Delivery.objects.filter(notification__user=ada, provider="inbox")
    send_now(own.id)
    assert "<strong>" not in browser.get(f"/inbox/{own.id}/").content.decode().partition('class="message-text"')[2]


def test_viewers_former_members_and_who_is_switched_off_get_nothing(ada: User, team: User) -> None:
    join(team, Role.VIEWER)
    join(team, is_active=False)
    left = join(team)
    membership = teams.find_membership(left, team.pk)
    assert membership is not None
    teams.leave(membership)
    assert told(ring(team)) == [ada]


def test_done_by_one_is_done_for_all_and_says_who(ada: User, team: User) -> None:
    bob = join(team, name="Bob")
    whole = ring(team)
    own = Notification.objects.get(user=bob, origin=TEAM)
    page = signed_in(bob).post(f"/history/{own.id}/answer/", {"answer": "acknowledge"}, follow=True)
    assert page.status_code == 200
    for one in (whole, own, Notification.objects.get(user=ada, origin=TEAM)):
        one.refresh_from_db()
        assert (one.acknowledged_at is not None, one.acknowledged_by) == (True, "Bob")
    assert not Delivery.objects.filter(notification__origin=TEAM, state="pending").exists()
    assert not acknowledge.acknowledge(Notification.objects.get(user=ada, origin=TEAM).id)
    seen = signed_in(ada).get(f"/history/{Notification.objects.get(user=ada, origin=TEAM).id}/").content.decode()
    assert "It was Bob" in seen
    assert acknowledge.undo(own.id) is not None
    assert set(Notification.objects.values_list("acknowledged_at", "acknowledged_by")) == {(None, "")}


def test_who_has_left_answers_for_themself_alone_and_stays_so(ada: User, team: User) -> None:
    bob = join(team)
    whole, membership = ring(team), teams.find_membership(bob, team.pk)
    assert membership is not None
    teams.leave(membership)
    own = Notification.objects.filter(user=bob, origin=TEAM)
    assert acknowledge.acknowledge(own.get().id)
    assert acknowledge.acknowledge(whole.id, by=ada)
    assert own.get().acknowledged_by == ""


def test_the_team_answers_and_the_member_is_named(ada: User, team: User, browser: Client) -> None:
    whole = ring(team)
    browser.post("/teams/act/", {"team": team.pk})
    browser.post(f"/history/{whole.id}/answer/", {"answer": "acknowledge"})
    own = Notification.objects.get(user=ada, origin=TEAM)
    assert (own.acknowledged_at is not None, own.acknowledged_by) == (True, "Ada")


def test_what_was_answered_before_it_was_told_reaches_nobody(team: User) -> None:
    delivery = make_delivery(team.channels.get(provider="team"), origin="schedule")
    assert acknowledge.acknowledge(delivery.notification_id)
    send_now(delivery.id)
    assert not Notification.objects.filter(origin=TEAM).exists()


def test_what_is_answered_while_a_worker_has_it_reaches_nobody(team: User) -> None:
    claim = taken(make_delivery(team.channels.get(provider="team"), origin="schedule").id)
    answer = DELIVERY.prepare(claim)
    assert isinstance(answer, Delivered)
    assert acknowledge.acknowledge(Delivery.objects.get(id=claim.id).notification_id)
    finish(claim, answer)
    assert Delivery.objects.get(id=claim.id).state == "delivered"
    assert not Notification.objects.filter(origin=TEAM).exists()


def test_a_worker_whose_lease_was_taken_over_tells_nobody(team: User) -> None:
    claim = taken(make_delivery(team.channels.get(provider="team"), origin="schedule").id)
    answer = DELIVERY.prepare(claim)
    assert isinstance(answer, Delivered)
    finish(replace(claim, token=uuid4()), answer)
    assert Delivery.objects.get().state == "sending"
    assert not Notification.objects.filter(origin=TEAM).exists()


def test_what_members_get_becomes_stale_with_the_teams_and_has_its_category(ada: User, team: User) -> None:
    until = timezone.now() + timedelta(hours=1)
    ring(team, category="household", expires_at=until)
    [own] = Delivery.objects.filter(notification__user=ada, provider="inbox")
    assert (own.expires_at, own.notification.category) == (until, "household")


def test_each_member_has_quiet_hours_of_their_own(team: User) -> None:
    always = {"quiet_from": time(0, 0), "quiet_until": time(23, 59, 59), "time_zone": "UTC"}
    asleep = join(team, **always)
    make_channel(asleep, "webhook", use_for_new=True)
    ring(team)
    [later] = Delivery.objects.filter(notification__user=asleep, provider="webhook")
    assert later.reason_code == "quiet-hours"
    ring(team, urgent=True)
    [now] = Delivery.objects.filter(notification__user=asleep, provider="webhook").exclude(id=later.id)
    assert now.reason_code == ""


def test_what_waits_for_a_member_ends_when_they_are_removed(ada: User, team: User) -> None:
    bob, owner = join(team), teams.find_membership(ada, team.pk)
    own = teams.find_membership(bob, team.pk)
    assert owner is not None and own is not None
    ring(team)
    teams.remove(owner, own.id)
    assert set(Delivery.objects.filter(notification__user=bob).values_list("state", "reason_code")) == {
        ("cancelled", "no-member")
    }
    assert Delivery.objects.filter(notification__user=ada, state="pending").exists()


def test_what_another_team_says_still_reaches_who_was_removed_from_this_one(ada: User, team: User) -> None:
    bob, club = join(team), teams.create(ada, "Club")
    Membership.objects.create(team=club, person=bob, role=Role.MEMBER)
    owner, own = teams.find_membership(ada, team.pk), teams.find_membership(bob, team.pk)
    assert owner is not None and own is not None
    for one in (team, club):
        ring(one, subject=one.name)
    teams.remove(owner, own.id)
    states = Delivery.objects.filter(notification__user=bob).values_list("notification__subject", "state")
    assert set(states) == {("Family", "cancelled"), ("Club", "pending")}


def test_only_a_team_has_members_as_a_channel(ada: User, team: User) -> None:
    with pytest.raises(NotPossible):
        changes.add(ada, "team", {})
    with pytest.raises(NotPossible):
        changes.add(team, "team", {})
    assert Channel.objects.filter(provider="team").count() == 1
