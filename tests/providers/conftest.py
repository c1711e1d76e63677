import pytest
from pytest_django.fixtures import Settings


@pytest.fixture(autouse=True)
def only_the_loopback_is_open(settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
