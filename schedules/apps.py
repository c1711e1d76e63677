from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate


class SchedulesConfig(AppConfig):
    name = "schedules"
    verbose_name = "Schedules"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from schedules import mirror

        post_delete.connect(mirror.delete, sender="schedules.Schedule")
        post_migrate.connect(mirror.create_indexes, sender=self)
