from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.utils.translation import gettext_lazy as _


class EventsConfig(AppConfig):
    name = "events"
    verbose_name = _("Events")

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
        checks.register(_check_flows)


def _check_flows(**_: Any) -> list[checks.CheckMessage]:
    from events import flows

    flows.all()
    hint = "Import it in manage.py shell to see the error, and repair the file or FLOWS. The other flows do not notice."
    return [
        checks.Warning(f"{path} is left out of the flows: {error}.", hint=hint, id="events.W001")
        for path, error in flows.BROKEN.items()
    ]
