from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

_LONGEST = 3_650  # days


def _check_retention() -> None:
    """A backup that is restored has the changes of the last days read again: their events must still be known then."""
    from notifications.models.change import KEPT_DAYS

    if not KEPT_DAYS <= settings.EVENTS_KEPT_DAYS <= _LONGEST:
        raise ImproperlyConfigured(
            f"EVENTS_KEPT_DAYS is {settings.EVENTS_KEPT_DAYS}, but must be from {KEPT_DAYS}, for which the changes that"
            f" become events are kept, to {_LONGEST}, for example EVENTS_KEPT_DAYS={KEPT_DAYS}"
        )


class EventsConfig(AppConfig):
    name = "events"
    verbose_name = _("Events")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the kinds of work. Raises ImproperlyConfigured where events would be deleted too early."""
        _check_retention()
        from events import job_kinds
        from events.topics import subscriptions
        from jobs import kinds
        from people.account import deletion

        kinds.PACKAGES.append(job_kinds.__name__)
        deletion.FIRST.append(subscriptions.forget_account)
