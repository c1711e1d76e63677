"""Admin of people and how they sign in."""

from people.admin import sign_in, user
