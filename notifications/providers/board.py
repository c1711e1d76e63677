"""A board: a page of its account, where all members of a team see what arrives, answer it and write back."""

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from notifications.messages.message import Delivered, Destination, Message
from notifications.providers.base import Limits, Provider
from work.answers import Answer

MOST_CHARACTERS = 4_000
"""Of the longest message."""


class Board(Provider):
    """Shows the message on the board's page. See `notifications.deliveries.boards`."""

    kind = "board"
    label = gettext_lazy("Board")
    icon = "board"
    about = gettext_lazy("A page that all members of a team share: reminders appear there, and people write back.")
    position = 13
    recognises_repeats = True
    separate_answer_url = True
    disturbs = False
    limits = Limits(body=MOST_CHARACTERS, joined=True)
    form = forms.Form  # without fields: a board has its page

    def summary(self, destination: Destination) -> str:
        return _("On its page")

    def text(self, message: Message) -> str:
        return self.render(message, Destination({})).body.text

    def send(self, message: Message, destination: Destination) -> Answer:
        """Return Delivered: `boards.deliver` writes it in the transaction that settles it."""
        return Delivered()
