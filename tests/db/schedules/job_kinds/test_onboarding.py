"""Carillon's first messages to new people: only about what is left to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.signals import user_signed_up
from django.test import Client
from pytest_django import Settings

from jobs import kinds
from jobs.models import Job
from notifications.models import Delivery, Notification
from people.models import User
from schedules.job_kinds import onboarding
from tests.make import NOON, check, make_channel, make_schedule, make_user

pytestmark = pytest.mark.django_db


def signed_up() -> tuple[User, Job]:
    """A new person after the first check, and the job of the first step."""
    user = make_user()
    user_signed_up.send(User, request=None, user=user)
    begun = check(Job.objects.get(user=user))
    assert begun.reason_code == "series-begun"
    first = newest(user)
    assert first.available_at - begun.slot == timedelta(days=1)
    return user, first


def newest(user: User) -> Job:
    return Job.objects.filter(user=user).latest("id")


def subjects() -> list[str]:
    return list(Notification.objects.filter(origin="notice").order_by("id").values_list("subject", flat=True))


def test_who_has_done_nothing_is_told_both_steps_in_the_inbox() -> None:
    user, first = signed_up()
    check(first)
    check(newest(user))
    assert subjects() == ["Confirm a channel", "Create your first reminder"]
    assert "/reminders/new/" in Notification.objects.latest("id").body
    assert Delivery.objects.filter(provider="inbox").count() == 2
    assert Job.objects.filter(user=user, state="pending").count() == 0


def test_what_is_done_is_not_told_and_the_next_step_is() -> None:
    user, first = signed_up()
    make_channel(user, "email")
    assert (check(first).reason_code, first.reason_params) == ("series-skipped", {"step": 1, "of": 2})
    check(newest(user))
    assert subjects() == ["Create your first reminder"]


@pytest.mark.parametrize(
    "mark", [{"disabled_at": NOON}, {"verified_at": None}, {"provider": "email"}, {"provider": "status"}]
)
def test_a_channel_that_reaches_nobody_is_not_a_channel(mark: dict[str, Any], settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"  # no mail server is configured
    user, first = signed_up()
    make_channel(user, **{"provider": "webhook"} | mark)
    check(first)
    assert subjects() == ["Confirm a channel"]


def test_it_ends_when_all_is_done() -> None:
    user, first = signed_up()
    make_schedule(user, [make_channel(user, "email")])
    assert (check(first).reason_code, newest(user), subjects()) == ("series-ended", first, [])


def test_an_operator_can_switch_it_off(settings: Settings) -> None:
    settings.ONBOARDING = False
    user_signed_up.send(User, request=None, user=make_user())
    assert not Job.objects.exists()


def test_signing_up_begins_it_once() -> None:
    Client().post("/account/signup/", {"email": "new@example.org", "password1": "Xy7-long-enough"})
    user = User.objects.get(email="new@example.org")
    onboarding.begin(user)
    assert Job.objects.filter(user=user, kind="onboarding").count() == 1


def test_nobody_is_offered_it_for_a_reminder() -> None:
    assert "onboarding" not in {kind.name for kind in kinds.offered()}
