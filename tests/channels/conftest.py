"""A person, and a browser in which they are signed in."""

from tests.pages.conftest import ada, browser

__all__ = ["ada", "browser"]
