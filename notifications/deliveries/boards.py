"""Boards: channels whose messages stand on a page of their account, where people answer them and write back.

Only the newest messages are stored: each new one deletes what is older, so a board is never full.
"""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django import forms
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.not_possible import NotPossible
from common.redis import live_wakes, rate_limiter
from common.texts.written import check_text
from common.uuid7 import uuid7
from notifications.messages.links import BOARD
from notifications.messages.message import Message
from notifications.models import BoardMessage, Channel, Delivery
from notifications.providers.board import MOST_CHARACTERS, Board
from people.models import User

STORED = 50
"""Messages of a board."""
_LINES_A_MINUTE = 30  # of a person


class MessageForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Message"),
        max_length=MOST_CHARACTERS,
        validators=[check_text],
        widget=forms.Textarea({"rows": 2, "autocomplete": "off"}),
        error_messages={"required": gettext_lazy("Write something first.")},
    )

    def clean_text(self) -> str:
        """Browsers send two characters for a line break."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")


def of_account(user: User) -> QuerySet[Channel]:
    return Channel.objects.for_user(user).filter(provider=Board.kind)


def messages(board: Channel, after: int = 0) -> list[BoardMessage]:
    """Those with a greater id, newest first, with their notifications: none is missing that others can see."""
    rows = BoardMessage.objects.filter(board=board, id__gt=after).select_related("notification")
    return list(rows.order_by("-id")[:STORED])


def address(board: Channel) -> str:
    """The secret address to which programs post."""
    return BOARD.address(board.link_id or board.id)


def replace_address(board: Channel) -> None:
    """Give the board a new address. Posts to the old one get 404."""
    Channel.objects.filter(id=board.id).update(link_id=uuid7())


def addressed(token: str) -> Channel | None:
    if (link_id := BOARD.read(token)) is None:
        return None
    return Channel.objects.linked(link_id).filter(removed_at=None, user__is_active=True).first()


def mark(messages: Sequence[BoardMessage]) -> str:
    """Changes when one is added or answered; `inbox_state` says the same of all boards of an account."""
    answered = sum(one.notification is not None and one.notification.acknowledged_at is not None for one in messages)
    return f"{messages[0].id if messages else 0}-{answered}"


def write(board: Channel, person: User, text: str) -> BoardMessage | None:
    """A person's line, of which `MessageForm` has checked the text. Raises NotPossible."""
    if not rate_limiter.allows(f"board:{person.pk}", _LINES_A_MINUTE, 60.0):
        problem = _("You wrote %(most)s messages within a minute, which is the limit. Wait a moment.")
        raise NotPossible(problem % {"most": _LINES_A_MINUTE})
    return post(board.id, text, person.get_full_name()[:150])


@transaction.atomic
def post(board_id: UUID, text: str, author: str = "", **delivered: UUID) -> BoardMessage | None:
    """Add a message, and delete what is older than the newest ones. None: the board was removed, or it is there.

    `delivered`: `delivery_id` and `notification_id` of what a delivery brings, which is there once.
    """
    board = Channel.objects.select_for_update(no_key=True).filter(id=board_id, removed_at=None).first()
    if board is None or (delivered and BoardMessage.objects.filter(delivery_id=delivered["delivery_id"]).exists()):
        return None
    message = BoardMessage.objects.create(board=board, text=text, author=author, **delivered)
    own = BoardMessage.objects.filter(board=board)
    own.filter(id__lte=own.order_by("-id").values("id")[STORED : STORED + 1]).delete()
    transaction.on_commit(partial(live_wakes.wake, board.user_id))
    return message


def deliver(board_id: UUID, message: Message) -> None:
    """In the transaction that settles the delivery."""
    notification_id = Delivery.objects.values_list("notification_id", flat=True).get(id=message.key)
    post(board_id, Board().text(message), delivery_id=message.key, notification_id=notification_id)
