"""The members of a team: each gets the message on their own channels."""

from django.utils.translation import gettext_lazy as _

from notifications.providers.base import InternalProvider


class Team(InternalProvider):
    """Tells the members, who have quiet hours and channels of their own. See `notifications.deliveries.members`."""

    kind = "team"
    label = _("Members of the team")
    about = _("Each owner and member gets it on the channels that they use for new reminders.")
    position = 11
    place = _("On their own channels")
