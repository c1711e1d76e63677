"""A person, and a browser in which they are signed in. Passwords are checked quickly: each test signs in often."""

import pytest
from pytest_django import Settings

from tests.pages.conftest import ada, browser

__all__ = ["ada", "browser"]


@pytest.fixture(autouse=True)
def quick(settings: Settings) -> None:
    """Hashing is slow by design."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
