from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = "Notifications"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from notifications.channels import changes  # noqa: F401 - connects its receiver
        from notifications.deliveries import (
            kind,  # noqa: F401 - registers the deliveries
            preload,  # noqa: F401 - connects its receiver
        )
