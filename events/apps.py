from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def _check_retention() -> None:
    """A backup that is restored has the changes of the last days read again: their events must still be known then."""
    from notifications.models.change import KEPT_DAYS

    if settings.EVENTS_KEPT_DAYS < KEPT_DAYS:
        raise ImproperlyConfigured(
            f"EVENTS_KEPT_DAYS is {settings.EVENTS_KEPT_DAYS}, but must be at least {KEPT_DAYS}: events are recognised"
            f" for as long as the changes that cause them are kept, for example EVENTS_KEPT_DAYS={KEPT_DAYS}"
        )


class EventsConfig(AppConfig):
    name = "events"
    verbose_name = "Events"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the kinds of work. Raises ImproperlyConfigured where events would be deleted too early."""
        _check_retention()
        from events import digest_kind, kind  # noqa: F401
