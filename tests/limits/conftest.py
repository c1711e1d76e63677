"""A broker with nothing in it, and a person with a browser in which they are signed in."""

from tests.deliveries.conftest import broker
from tests.pages.conftest import ada, browser

__all__ = ["ada", "broker", "browser"]
