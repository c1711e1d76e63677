"""The members on call for a team: one after the other, until somebody answers."""

from django.utils.translation import gettext_lazy as _

from notifications.providers.base import InternalProvider


class OnCall(InternalProvider):
    """Asks the members of the team's order in turn. See `notifications.deliveries.members`."""

    kind = "on_call"
    label = _("Who is on call")
    about = _("One member after the other, in the order of the team’s page, until somebody presses Done.")
    position = 12
    place = _("In the order of the team")
