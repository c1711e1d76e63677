"""Tell the members of a team what arrives on its channels `team` and `on_call`, each on their own channels."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver

from notifications.deliveries import outbox, quiet_changes, withdrawal
from notifications.deliveries.outbox import NewNotification
from notifications.messages.message import Delivered, Rejected
from notifications.messages.text import literal
from notifications.models import Channel, Delivery, Notification
from notifications.reasons import DeliveryCode
from people import quiet, teams
from people.models import User
from people.teams import on_call
from work.answers import Answer, Cancel, Defer
from work.broker.wakes import publish_after_commit
from work.reasons import Reason

TEAM = Notification.Origin.TEAM


def to_all(delivery_id: UUID, team_id: int | None, now: datetime) -> Answer:
    """Tell all members when the delivery is settled, if that reaches one of them."""
    readers = teams.recipients(team_id).values("person")
    if not Channel.objects.read_by_people().filter(user__in=readers, use_for_new=True).exists():
        return Rejected(Reason(DeliveryCode.NOBODY_TO_TELL))
    return Delivered(before=partial(tell, delivery_id, now))


def tell(delivery_id: UUID, now: datetime) -> None:
    """Record a notification for each member who is not a viewer, in the transaction that settles the delivery.

    Their batch is the team's notification: so each gets one, and an answer by one ends all (see `acknowledge`).
    """
    delivery, whole = _lock(delivery_id)
    if whole.acknowledged_at is not None:
        return
    members = teams.recipients(whole.user_id).select_related("person")
    people = [member.person for member in members.order_by("person_id")]
    channels = _channels(people)
    new = [_new(delivery, whole, one, channels[one.pk], now) for one in people if one.pk in channels]
    publish_after_commit(outbox.record(new))


@transaction.atomic
def ask(delivery_id: UUID, now: datetime) -> Answer | Cancel | Defer:
    """Record a notification for the next person on call, and wait for their answer; done once all have been asked.

    Who was asked is in the notifications: a worker that dies here asks nobody twice.
    """
    delivery, whole = _lock(delivery_id)
    if whole.acknowledged_at is not None:  # since the delivery was claimed
        return Cancel(Reason(DeliveryCode.SNOOZED if whole.snoozed_until else DeliveryCode.ACKNOWLEDGED))
    notified = list(notified_members(whole))
    patience = timedelta(minutes=on_call.minutes(whole.user))
    is_waiting = notified and teams.recipients(whole.user_id).filter(person=notified[-1].user).exists()
    if is_waiting and (left := notified[-1].created_at + patience - now) > timedelta(0):
        return _wait(left, notified[-1].user)
    people = on_call.to_ask(whole.user, now, whole.urgent)
    channels = _channels(people)
    left_to_ask = channels.keys() - {one.user_id for one in notified}
    for person in people:
        if person.pk in left_to_ask:
            publish_after_commit(outbox.record([_new(delivery, whole, person, channels[person.pk], now)]))
            return _wait(patience, person)
    return Delivered() if notified else Rejected(Reason(DeliveryCode.NOBODY_ON_CALL))


def _wait(left: timedelta, person: User) -> Defer:
    return Defer(left.total_seconds(), Reason(DeliveryCode.ASKED, name=person.get_short_name()))


def _lock(delivery_id: UUID) -> tuple[Delivery, Notification]:
    """Lock the notification, so that an answer waits for it and then reaches all who were notified."""
    delivery = Delivery.objects.get(id=delivery_id)
    locked = Notification.objects.select_for_update(no_key=True, of=("self",)).select_related("user")
    return delivery, locked.get(id=delivery.notification_id)


def _new(
    delivery: Delivery, whole: Notification, person: User, channels: Sequence[tuple[UUID, str]], now: datetime
) -> NewNotification:
    return outbox.again(
        whole,
        channels,
        user_id=person.pk,
        body=whole.body if whole.origin in Notification.MARKED else literal(whole.body),
        origin=TEAM,
        batch_id=whole.id,
        origin_id=whole.id,
        expires_at=delivery.expires_at,
        quiet_hours=None if whole.urgent else quiet.wait(now, person.hours),
        urgent=whole.urgent,
        data=None,
    )


def _channels(people: Sequence[User]) -> dict[int, list[tuple[UUID, str]]]:
    """The channels that each uses for new reminders, without those of programs."""
    usable = Channel.objects.read_by_people().filter(user__in=people, use_for_new=True).order_by("user_id", "id")
    return {
        user_id: [(channel.id, channel.provider) for channel in own]
        for user_id, own in groupby(usable, key=attrgetter("user_id"))
    }


def notified_members(whole: Notification) -> QuerySet[Notification]:
    """The notifications of a team's members about one of the team, the first first."""
    return (
        Notification.objects.select_related("user").filter(batch_id=whole.id, origin=TEAM).order_by("created_at", "id")
    )


def name_teams(notifications: Iterable[Notification]) -> None:
    """Set the `team` of what members of teams got, by one statement; by none where nothing is a team's."""
    of_teams = [one for one in notifications if one.origin == TEAM]
    wholes = Notification.objects.filter(id__in={one.batch_id for one in of_teams})
    names = dict(wholes.values_list("id", "user__name")) if of_teams else {}
    for one in of_teams:
        one.team = names.get(one.batch_id, "")


@receiver(teams.left)
def withdraw(person: User, team: User, **_: object) -> None:
    """Cancel what has not gone out to somebody who is no longer a member. If they were asked, the next one is."""
    waiting = Notification.objects.filter(user=person, origin=TEAM, outcome=Notification.Outcome.OPEN)
    of_team = Notification.objects.filter(user=team).values("id")
    withdrawal.cancel(waiting.filter(batch_id__in=of_team), DeliveryCode.NO_MEMBER)
    quiet_changes.release_all(team.pk, DeliveryCode.ASKED)
