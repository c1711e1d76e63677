from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _


def _check_retry_waits() -> None:
    for kind in settings.RETRY_WAITS:
        from notifications import providers

        if providers.find(kind) is None:
            kinds = ", ".join(provider.kind for provider in providers.all())
            raise ImproperlyConfigured(
                f"RETRY_WAITS_{kind.upper()} names no kind of provider (there are {kinds}), for example"
                " RETRY_WAITS_WEBHOOK=60,300,1800"
            )


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = _("Notifications")

    def ready(self) -> None:
        """Connect receivers. Raises ImproperlyConfigured for the waits of an unknown provider."""
        _check_retry_waits()
        from notifications.channels import changes  # noqa: F401 - connects its receiver
        from notifications.deliveries import (
            kind,  # noqa: F401 - registers the deliveries
            members,  # noqa: F401 - connects its receiver
            preload,  # noqa: F401 - connects its receiver
            quiet_changes,  # noqa: F401 - connects its receiver
        )
