"""Whoever is on call is asked, one after the other, until somebody answers."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from notifications.channels import changes
from notifications.deliveries import acknowledge, members
from notifications.deliveries.kind import DELIVERY
from notifications.models import Delivery, Notification
from people import teams
from people.models import CallOverride, Membership, OnCall, User
from tests.make import NOON, make_delivery, make_user, signed_in, taken, try_once
from work.answers import Cancel

TEAM = Notification.Origin.TEAM


@pytest.fixture
def team(ada: User) -> User:
    changes.add(ada, "inbox", {})
    team = teams.create(ada, "Night watch")
    changes.add(team, "on_call", {})
    OnCall.objects.create(team=team, first=date(2026, 1, 5), weekly=False, minutes=5)
    Membership.objects.update(call_place=1)
    return team


def join(team: User, place: int, **overrides: object) -> User:
    person = make_user(**overrides)
    changes.add(person, "inbox", {})
    Membership.objects.create(team=team, person=person, role="member", call_place=place)
    return person


def ring(team: User, **overrides: object) -> Delivery:
    return make_delivery(team.channels.get(provider="on_call"), origin="schedule", **overrides)


def ask(delivery: Delivery, after: timedelta = timedelta(0)) -> list[User]:
    """Who has been asked, when a worker looks again so long after the last time."""
    told = Notification.objects.filter(batch_id=delivery.notification_id, origin=TEAM)
    told.update(created_at=F("created_at") - after)
    Delivery.objects.filter(id=delivery.id, state="pending").update(available_at=NOON)
    delivery.refresh_from_db()
    try_once(delivery)
    return [one.user for one in told.order_by("created_at", "id")]


def test_the_next_one_is_asked_when_nobody_answers(ada: User, team: User, published: list[UUID]) -> None:
    bob = join(team, 2)
    delivery = ring(team)
    assert ask(delivery) == [ada]
    assert (delivery.state, delivery.reason_code) == ("pending", "asked")
    assert ask(delivery, timedelta(minutes=4)) == [ada]
    assert ask(delivery, timedelta(minutes=2)) == [ada, bob]
    assert ask(delivery, timedelta(minutes=6)) == [ada, bob]
    assert delivery.state == "delivered"
    assert published == [Delivery.objects.get(notification__user=one, provider="inbox").id for one in (ada, bob)]


def test_of_one_whom_the_other_channel_told_nothing_untrue_is_said(ada: User, team: User) -> None:
    """Carol is not on call; the channel of all members has told her."""
    carol = join(team, 2, name="Carol")
    Membership.objects.filter(person=carol).update(call_place=None)
    delivery = ring(team)
    members.tell(delivery.id, timezone.now())  # as for the channel of all members
    assert set(ask(delivery)) == {ada, carol}
    assert (delivery.state, delivery.reason.partition(" ")[2]) == ("pending", "has been told. Waiting for an answer.")


def test_an_answer_ends_it(ada: User, team: User) -> None:
    join(team, 2)
    delivery = ring(team)
    ask(delivery)
    assert acknowledge.acknowledge(Notification.objects.get(user=ada, origin=TEAM).id)
    assert ask(delivery, timedelta(minutes=6)) == [ada]
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == ("cancelled", "acknowledged")


def test_an_answer_at_the_moment_of_asking_ends_it(ada: User, team: User) -> None:
    join(team, 2)
    delivery = ring(team)
    ask(delivery)
    told = Notification.objects.filter(batch_id=delivery.notification_id, origin=TEAM)
    told.update(created_at=F("created_at") - timedelta(minutes=6))
    Delivery.objects.filter(id=delivery.id).update(available_at=NOON)
    claim = taken(delivery.id)
    assert acknowledge.acknowledge(told.get().id)
    answer = DELIVERY.prepare(claim)
    assert isinstance(answer, Cancel)
    assert answer.reason.code == "acknowledged"
    assert [one.user for one in told] == [ada]


def test_a_worker_that_died_after_asking_asks_nobody_twice(ada: User, team: User) -> None:
    join(team, 2)
    delivery = ring(team)
    assert ask(delivery) == ask(delivery) == [ada]
    assert Notification.objects.filter(origin=TEAM).count() == 1


def test_whoever_is_in_quiet_hours_is_asked_only_where_it_is_urgent(ada: User, team: User) -> None:
    asleep = join(team, 2, quiet_from=time(0, 0), quiet_until=time(23, 59, 59), time_zone="UTC")
    Membership.objects.filter(person=asleep).update(call_place=0)
    assert ask(ring(team)) == [ada]
    assert ask(ring(team, urgent=True)) == [asleep]


@pytest.mark.parametrize("leaves", [True, False])
def test_when_the_one_who_was_asked_leaves_or_becomes_a_viewer_the_next_one_is_asked_at_once(
    ada: User, team: User, leaves: bool
) -> None:
    bob = join(team, 0)
    delivery = ring(team)
    assert ask(delivery) == [bob]
    own, owner = (teams.find_membership(one, team.pk) for one in (bob, ada))
    assert own is not None and owner is not None
    if leaves:
        teams.leave(own)
    else:
        teams.change_role(owner, own.id, "viewer")
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == ("pending", "")
    assert delivery.available_at <= timezone.now()
    assert ask(delivery) == [bob, ada]
    later = ring(team)
    assert ask(later) == [ada]


def test_when_another_one_leaves_the_answer_is_still_waited_for(ada: User, team: User) -> None:
    bob = join(team, 2)
    delivery = ring(team)
    assert ask(delivery) == [ada]
    own = teams.find_membership(bob, team.pk)
    assert own is not None
    teams.leave(own)
    assert ask(delivery) == [ada]
    assert (delivery.state, delivery.reason_code) == ("pending", "asked")


def test_one_who_left_answers_for_nobody_else(ada: User, team: User) -> None:
    """Their message stays in their inbox, and its link in their mail."""
    bob = join(team, 0)
    delivery = ring(team)
    ask(delivery)
    own, told = teams.find_membership(bob, team.pk), Notification.objects.get(user=bob, origin=TEAM)
    assert own is not None
    teams.leave(own)
    assert acknowledge.acknowledge(told.id)
    assert ask(delivery) == [bob, ada]
    assert Notification.objects.filter(acknowledged_at=None).count() == 2  # the team's, and that of Ada
    assert acknowledge.undo(told.id) is not None


def test_viewers_are_never_asked(ada: User, team: User, browser: Client) -> None:
    viewer = join(team, 0)
    own, now = Membership.objects.get(person=viewer), timezone.now()
    CallOverride.objects.create(member=own, begins_at=now - timedelta(hours=1), ends_at=now + timedelta(hours=1))
    Membership.objects.filter(id=own.id).update(role="viewer")
    assert ask(ring(team)) == [ada]
    page = browser.get(f"/teams/{team.pk}/on-call/")
    assert [one.instance.person for one in page.context["turns"]] == [ada]
    assert [one.person for one in page.context["override"].fields["member"].queryset] == [ada]


def test_who_becomes_a_viewer_loses_the_place_in_the_order(ada: User, team: User) -> None:
    bob, owner = join(team, 2), teams.find_membership(ada, team.pk)
    own, now = Membership.objects.get(person=bob), timezone.now()
    CallOverride.objects.create(member=own, begins_at=now, ends_at=now + timedelta(hours=1))
    assert owner is not None
    teams.change_role(owner, own.id, "viewer")
    own.refresh_from_db()
    assert (own.call_place, own.overrides.exists()) == (None, False)


def test_an_override_counts_before_there_is_an_order(ada: User, team: User) -> None:
    OnCall.objects.all().delete()
    Membership.objects.update(call_place=None)
    now, own = timezone.now(), Membership.objects.get()
    CallOverride.objects.create(member=own, begins_at=now - timedelta(hours=1), ends_at=now + timedelta(hours=1))
    assert ask(ring(team)) == [ada]


def test_nobody_on_call_is_a_failure_that_says_so(team: User) -> None:
    Membership.objects.update(call_place=None)
    delivery = ring(team)
    assert ask(delivery) == []
    assert (delivery.state, delivery.reason_code) == ("dead", "nobody-on-call")


def test_members_set_the_order_and_somebody_else_for_a_while(ada: User, team: User, browser: Client) -> None:
    bob = join(team, 2, name="Bob")
    page, member = f"/teams/{team.pk}/on-call/", {one.person_id: one.id for one in Membership.objects.all()}
    typed = {"act": "order", "first": "2026-01-05", "handover": "08:00", "minutes": "15", "weekly": "on"}
    typed |= {f"{member[ada.pk]}-call_place": "2", f"{member[bob.pk]}-call_place": "1"}
    assert browser.post(page, typed).status_code == 302
    assert ask(ring(team)) == ask(ring(team))
    order = OnCall.objects.get(team=team)
    assert (order.minutes, order.handover, order.weekly) == (15, time(8), True)
    typed |= {f"{member[bob.pk]}-call_from": "08:00"}
    assert "Enter both times" in browser.post(page, typed).content.decode()
    now = timezone.localtime(timezone.now(), team.zone)
    written = {
        "begins_at": f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M}",
        "ends_at": f"{now + timedelta(days=1):%Y-%m-%dT%H:%M}",
    }
    other = join(team, 3, name="Eve")
    chosen = str(Membership.objects.get(person=other).id)
    assert browser.post(page, {"act": "override", "member": chosen, **written}).status_code == 302
    assert ask(ring(team)) == [other]
    assert "Eve" in browser.get(page).content.decode()
    removal = {"act": "remove", "override": str(CallOverride.objects.get().id)}
    assert browser.post(page, removal).status_code == 302
    assert not CallOverride.objects.exists()
    assert browser.post(page, removal).status_code == 404  # somebody else was faster


def test_overrides_are_bounded_and_those_that_have_ended_go(team: User, browser: Client) -> None:
    page, own, now = f"/teams/{team.pk}/on-call/", Membership.objects.get(), timezone.now()
    CallOverride.objects.create(member=own, begins_at=now - timedelta(days=2), ends_at=now - timedelta(days=1))

    def add(begins: timedelta, ends: timedelta) -> int:
        edges = {"begins_at": now + begins, "ends_at": now + ends}
        typed = {name: f"{timezone.localtime(at, team.zone):%Y-%m-%dT%H:%M}" for name, at in edges.items()}
        return browser.post(page, {"act": "override", "member": str(own.id), **typed}).status_code

    assert add(timedelta(days=-2), timedelta(hours=-1)) == 200
    assert add(timedelta(0), timedelta(days=1)) == 302
    current = CallOverride.objects.get()
    CallOverride.objects.bulk_create(
        CallOverride(member=own, begins_at=current.begins_at, ends_at=current.ends_at) for _ in range(49)
    )
    assert add(timedelta(0), timedelta(days=1)) == 200
    assert CallOverride.objects.count() == 50


def test_a_time_at_which_the_clock_is_changed_is_refused_in_words(team: User, browser: Client) -> None:
    own, zone = Membership.objects.get(), team.zone
    night = next(  # of the next change in spring
        day
        for day in (timezone.localdate() + timedelta(days=ahead) for ahead in range(1, 400))
        if datetime.combine(day, time(2, 30), zone).astimezone(UTC).astimezone(zone).time() != time(2, 30)
    )
    typed = {"member": str(own.id), "begins_at": f"{night}T02:30", "ends_at": f"{night}T08:00"}
    page = browser.post(f"/teams/{team.pk}/on-call/", {"act": "override", **typed}).content.decode()
    assert "The clock is changed at this time." in page
    assert not CallOverride.objects.exists()


def test_a_viewer_sees_who_is_on_call_and_changes_nothing(team: User) -> None:
    viewer = make_user()
    Membership.objects.create(team=team, person=viewer, role="viewer")
    browser, page = signed_in(viewer), f"/teams/{team.pk}/on-call/"
    assert browser.get(page).status_code == 200
    assert browser.post(page, {"act": "order"}).status_code == 403
