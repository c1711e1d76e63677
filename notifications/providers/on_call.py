"""The members on call for a team: one after the other, until somebody answers."""

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from notifications.messages.message import Delivered, Destination, Message
from notifications.providers.base import Provider
from work.answers import Answer


class OnCall(Provider):
    """Asks the members of the team's order in turn. See `notifications.deliveries.members`."""

    kind = "on_call"
    label = gettext_lazy("Who is on call")
    icon = "on_call"
    about = gettext_lazy("One member after the other, in the order of the team’s page, until somebody presses Done.")
    position = 12
    recognises_repeats = True
    disturbs = False
    form = forms.Form  # without fields: the team's page has the order

    def summary(self, destination: Destination) -> str:
        return _("In the order of the team")

    def send(self, message: Message, destination: Destination) -> Answer:
        """Return Delivered: `members.ask` does it."""
        return Delivered()
