"""The members of a team: each gets the message on their own channels."""

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from notifications.messages.message import Delivered, Destination, Message
from notifications.providers.base import Provider
from work.answers import Answer


class Team(Provider):
    """Tells the members, who have quiet hours and channels of their own. See `notifications.deliveries.members`."""

    kind = "team"
    label = gettext_lazy("Members of the team")
    icon = "team"
    about = gettext_lazy("Each owner and member gets it on the channels that they use for new reminders.")
    position = 11
    recognises_repeats = True
    disturbs = False
    form = forms.Form  # without fields: a team has its members

    def summary(self, destination: Destination) -> str:
        return _("On their own channels")

    def send(self, message: Message, destination: Destination) -> Answer:
        """Return Delivered: the members are told in the transaction that settles it."""
        return Delivered()
