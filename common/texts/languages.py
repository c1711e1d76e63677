"""The languages that people can read, and which one a text is written in."""

from contextlib import AbstractContextManager

from django.conf import settings
from django.utils import translation


def override(language: str) -> AbstractContextManager[None]:
    """Write all texts inside in a person's language; the installation's if they have chosen none that there is."""
    return translation.override(language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE)
