"""The people's part of the admin, and what all lists of the admin share (`house`, `counting`, `links`, `recent`)."""

from people.admin import address, factor, group, refused, user

__all__ = ["address", "factor", "group", "refused", "user"]
