"""The inbox, a page of Carillon."""

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from notifications.messages import markup
from notifications.messages.message import Delivered, Destination, Message
from notifications.providers.base import Provider
from work.answers import Answer


class Inbox(Provider):
    """Shows the message on the person's own page."""

    kind = "inbox"
    label = gettext_lazy("Inbox")
    icon = "inbox"
    position = 0
    recognises_repeats = True
    separate_answer_url = True
    disturbs = False
    style = markup.HTML
    form = forms.Form  # without fields: each person has one inbox

    def summary(self, destination: Destination) -> str:
        return _("On your inbox page")

    def send(self, message: Message, destination: Destination) -> Answer:
        """Return Delivered: the inbox page lists delivered deliveries, so there is nothing to write."""
        return Delivered()
