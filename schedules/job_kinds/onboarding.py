"""Carillon's own series for new people: it says what is left to do, and ends when all is done."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop

from common.database.postgres import persist
from jobs.checks import recording, series
from jobs.checks.recording import NewJob, SendAs
from jobs.checks.series import Step
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused
from jobs.reasons import JobCode
from notifications.models import Channel, Notification
from notifications.models.channel import usable
from people.models import User, display_name
from schedules.models import Schedule
from work.broker.wakes import publish_after_commit
from work.reasons import Codes, Reason

# Names the batches of the series (RFC 9562, section 5.5).
_SERIES = UUID("0d8e3c41-6a57-4f0e-9b1e-2c7f5a94d310")
_STEPS = 2


class OnboardingCode(Codes):
    NO_STEP = "onboarding-no-step", gettext_noop("there is no such step")
    ALL_DONE = "onboarding-done", gettext_noop("a channel is confirmed and a reminder is created")


class Onboarding(JobKind):
    name = "onboarding"
    label = gettext_lazy("First steps")
    about = gettext_lazy("Carillon's own messages to new people, until they have a channel and a reminder.")
    offered = False
    title = gettext_lazy("First steps")

    def summary(self, payload: Mapping[str, Any]) -> str:
        return _("what a new person has done")

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        if not series.is_step(ask.payload, _STEPS):
            return Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem=Reason(OnboardingCode.NO_STEP)))
        channels = Channel.objects.filter(usable(), user=ask.user_id).exclude(provider="inbox")
        reminders = Schedule.objects.filter(user=ask.user_id)
        return Found({"channel": persist(channels.exists), "reminder": persist(reminders.exists)})

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        steps = [
            Step(
                timedelta(days=1),
                _("Confirm a channel"),
                _(
                    "So far your reminders reach you on these pages alone. Add your email or a chat, and confirm it: "
                    "{page}"
                ),
                value["channel"],
                {"page": _page("notifications:channels")},
            ),
            Step(
                timedelta(days=3),
                _("Create your first reminder"),
                _("Say what, and when, and Carillon reminds you: {page}"),
                value["reminder"],
                {"page": _page("schedules:new")},
            ),
        ]
        all_done = all(step.is_done for step in steps)
        return series.decide(ask, steps, Reason(OnboardingCode.ALL_DONE) if all_done else None)


def begin(user: User, **ignored: Any) -> None:
    """Begin the series for a new person, in the transaction of their sign-up, unless ONBOARDING is off."""
    if not settings.ONBOARDING:
        return
    send_as = SendAs(
        title=str(Onboarding.title),
        body="",
        channels=None,
        name=display_name(user.name, user.email),
        time_zone=user.zone.key,
        origin=str(Notification.Origin.NOTICE),
    )
    job = NewJob(
        user_id=user.pk,
        kind=Onboarding.name,
        payload={},
        connection_id=None,
        batch_id=uuid5(_SERIES, str(user.pk)),
        slot=timezone.now(),
        send_as=send_as,
    )
    publish_after_commit(recording.record([job]))


def _page(name: str) -> str:
    return f"{settings.BASE_URL}{reverse(name)}"
