"""A board: a page of its account, where all members of a team see what arrives, answer it and write back."""

from django.utils.translation import gettext_lazy as _

from notifications.messages.message import Destination, Message
from notifications.providers.base import InternalProvider, Limits

MOST_CHARACTERS = 4_000
"""Of the longest message."""


class Board(InternalProvider):
    """Shows the message on the board's page. See `notifications.deliveries.boards`."""

    kind = "board"
    label = _("Board")
    about = _("A page that all members of a team share: reminders appear there, and people write back.")
    position = 13
    separate_answer_url = True
    limits = Limits(body=MOST_CHARACTERS, joined=True)
    place = _("On its page")

    def text(self, message: Message) -> str:
        return self.render(message, Destination({})).body.text
