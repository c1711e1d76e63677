"""Admin of people and how they sign in."""

from people.admin import security_event, sign_in, user

__all__ = ["security_event", "sign_in", "user"]
