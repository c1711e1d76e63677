from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EventsConfig(AppConfig):
    name = "events"
    verbose_name = _("Events")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from events import job_kinds
        from events.runs import incidents
        from events.topics import subscriptions
        from jobs import kinds
        from notifications.deliveries import acknowledge
        from people.account import deletion

        kinds.PACKAGES.append(job_kinds.__name__)
        deletion.FIRST.append(subscriptions.forget_account)
        acknowledge.LISTENERS.append(incidents.answered)
