from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate
from django.utils.translation import gettext_lazy as _


class SchedulesConfig(AppConfig):
    name = "schedules"
    verbose_name = _("Schedules")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from allauth.account.signals import user_signed_up

        from jobs import kinds
        from schedules import job_kinds, mirror
        from schedules.job_kinds import onboarding

        kinds.PACKAGES.append(job_kinds.__name__)
        user_signed_up.connect(onboarding.begin, dispatch_uid="onboarding")
        post_delete.connect(mirror.delete, sender="schedules.Schedule")
        post_migrate.connect(mirror.create_indexes, sender=self)
