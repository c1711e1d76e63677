from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = _("Jobs")

    def ready(self) -> None:
        """Register the kinds of work, and the queues of the kinds of job."""
        from common.redis import served_queues
        from jobs import kinds
        from jobs.checks import recording

        served_queues.also_used.append(lambda: (recording.queue_of(one.name) for one in kinds.all()))
