"""Rights of staff to see everybody's data, checked at each view: staff alone may see nothing."""

from people.models import User

OF_EVERYBODY = (
    "notifications.view_channel",
    "notifications.view_delivery",
    "notifications.view_notification",
    "schedules.view_schedule",
)
"""The permissions for changes and reports over all accounts."""


def sees_everybody(user: User) -> bool:
    return user.is_active and user.is_staff and user.has_perms(OF_EVERYBODY)
