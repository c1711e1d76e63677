"""Django's storage of messages, with the name that all cookies have here."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class Cookie(CookieStorage):
    cookie_name = f"{settings.COOKIE_PREFIX}messages"


class Storage(FallbackStorage):
    storage_classes = (Cookie, SessionStorage)
