from tests.unit.notifications.conftest import names, only_the_loopback_is_allowed, receiver

__all__ = ["names", "only_the_loopback_is_allowed", "receiver"]
