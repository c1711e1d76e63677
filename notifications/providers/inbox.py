"""The inbox, a page of Carillon."""

from django.utils.translation import gettext_lazy as _

from notifications.messages import markup
from notifications.providers.base import InternalProvider


class Inbox(InternalProvider):
    """Shows the message on the person's own page, which lists delivered deliveries. Each person has one inbox."""

    kind = "inbox"
    label = _("Inbox")
    position = 0
    separate_answer_url = True
    style = markup.HTML
    place = _("On your inbox page")
