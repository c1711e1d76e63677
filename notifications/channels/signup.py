"""Somebody has signed up: they get their inbox, so that a first reminder has somewhere to go."""

from __future__ import annotations

from typing import Any

from allauth.account.signals import user_signed_up
from django.dispatch import receiver

from notifications.channels import lifecycle
from people.models import User


@receiver(user_signed_up)
def welcome(user: User, **_: Any) -> None:
    lifecycle.open_inbox(user)
