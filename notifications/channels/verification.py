"""Verification: a channel is used only after its owner has entered a code that was sent to it."""

import hashlib
import json
from datetime import datetime, timedelta

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from common.database import encryption
from common.forms.not_possible import NotPossible
from common.texts import languages
from notifications import providers
from notifications.deliveries import outbox
from notifications.models import Channel, Notification
from people import codes
from people.models import User
from people.sign_in import mailboxes
from people.user_lock import lock_user


class TooManyCodes(NotPossible):
    """The daily limit of tests and codes is reached."""


class CodeRefused(NotPossible):
    """The reader of the address wants no more codes."""


def is_proven(user: User, kind: str, address: object) -> bool:
    """Whether no code is needed: an inbox, a team's members, a queue, the browser at hand, or an email address that the
    person confirmed for their account.
    """
    provider = providers.get(kind)
    if not provider.form.base_fields or kind in providers.pulled() or provider.from_browser:
        return True
    return kind == "email" and mailboxes.is_confirmed(str(address), user)


def can_be_refused(kind: str) -> bool:
    """Whether an address is still known after its channel is removed; other kinds erase it as a secret."""
    return kind == "email"


def is_refused(kind: str, address: object) -> bool:
    """Whether the reader of this address has refused codes from every account."""
    return can_be_refused(kind) and mailboxes.is_refused(str(address))


def send_code(channel: Channel, now: datetime) -> None:
    """Send a new code to `channel` and invalidate the last one. Raises `codes.TooSoon`, CodeRefused, TooManyCodes."""
    with lock_user(channel.user), languages.override(channel.user.language):
        # Another request may have changed the address meanwhile: it is the new one's reader who gets the code.
        channel.refresh_from_db()
        if is_refused(channel.provider, channel.address.get("address")):
            raise CodeRefused(mailboxes.REFUSED)
        spend_test(channel.user, now)
        _pause(channel, now)
        codes.renew(channel.id, now)
        _spend_code(channel)
        outbox.notify(
            channel.user_id,
            [channel],
            _("Your code for Carillon"),
            _(
                "%(code)s confirms that this channel is yours. Enter it on Carillon's page within 15 "
                "minutes. If you did not ask for it, ignore this message. Nothing else will be sent here."
            )
            % {"code": codes.MARK},
            Notification.Origin.CODE,
        )


def same_address(channel: Channel) -> QuerySet[Channel]:
    """This person's channels to the same address, removed ones too; only itself if it has no comparable address."""
    if not can_be_refused(channel.provider):
        return Channel.objects.filter(id=channel.id)
    return Channel.objects.filter(
        user=channel.user_id, provider=channel.provider, address__address__iexact=str(channel.address.get("address"))
    )


def _pause(channel: Channel, now: datetime) -> None:
    """Enforce the pause between codes, also after the channel was removed and added again. Raises `codes.TooSoon`."""
    sent = Notification.objects.filter(
        user=channel.user_id,
        origin=Notification.Origin.CODE,
        created_at__gt=now - timedelta(days=1),
        deliveries__channel__in=same_address(channel),
    )
    if last := sent.order_by("-created_at").values_list("created_at", flat=True).first():
        codes.pause(last, now)


def _spend_code(channel: Channel) -> None:
    """Count a code for the recipient, across all accounts: the recipient may not have asked for any.

    Raises TooManyCodes, also if Redis does not answer.
    """
    if not cache.answers():  # type: ignore[attr-defined]  # common.cache
        raise TooManyCodes(
            _("Carillon cannot send a code right now because Redis does not answer. Try again in a minute.")
        )
    if not mailboxes.may_send(mailboxes.Purpose.CODE, _recipient(channel)):
        text = _("%(most)s codes were sent to this address within a day, which is the limit. Try tomorrow.")
        raise TooManyCodes(text % {"most": mailboxes.MAILS_A_DAY})


def _recipient(channel: Channel) -> str:
    """Identify the channel's recipient, the same in every account."""
    if channel.provider == "email":
        return mailboxes.mailbox(str(channel.address.get("address")))
    try:
        destination = channel.destination()
    except encryption.Unreadable:
        return str(channel.id)
    provider = providers.get(channel.provider)
    given = {**destination.address, **destination.secrets}
    own = provider.option_fields | {provider.revealed}  # not part of the address
    named = sorted((name, value) for name, value in given.items() if name not in own)
    return hashlib.sha256(json.dumps([channel.provider, named]).encode()).hexdigest()


def spend_test(user: User, now: datetime) -> None:
    """Raise TooManyCodes if the person has used up the daily limit of tests and codes."""
    most: int = settings.TESTS_A_DAY
    recent = Notification.objects.filter(
        user=user, origin__in=Notification.OF_CHANNELS, created_at__gt=now - timedelta(days=1)
    )
    if recent.count() >= most:
        text = _("You sent %(most)s tests and codes within a day, which is the limit. Try again tomorrow.")
        raise TooManyCodes(text % {"most": most})
