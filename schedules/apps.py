from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate


class SchedulesConfig(AppConfig):
    name = "schedules"
    verbose_name = "Schedules"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from jobs import kinds
        from schedules import job_kinds, mirror

        kinds.PACKAGES.append(job_kinds.__name__)
        post_delete.connect(mirror.delete, sender="schedules.Schedule")
        post_migrate.connect(mirror.create_indexes, sender=self)
