"""The ping key of a person: with a watch's slug, an address that can be written before the watch's id is known."""

from django.conf import settings
from django.db import models

from people.models import User
from watches.models.badge import new_token


class PingKey(models.Model):
    """One a person, made with the first slug. A new `key` ends all addresses by the old one."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="ping_key"
    )
    key = models.CharField(max_length=32, unique=True, default=new_token, editable=False)

    def __str__(self) -> str:
        return str(self.user_id)


def renew(user: User) -> None:
    PingKey.objects.filter(user=user).update(key=new_token())
