from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WatchesConfig(AppConfig):
    name = "watches"
    verbose_name = _("Watches")

    def ready(self) -> None:
        from schedules.beat import scheduler
        from watches import notices

        scheduler.EACH_TICK.append(notices.record_due)
