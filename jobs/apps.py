from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = _("Jobs")

    def ready(self) -> None:
        """Register the kinds of work, the queues of the kinds of job, and their codes, which are loaded with them."""
        from common.redis import served_queues
        from jobs import kinds
        from jobs.checks import recording
        from work import reasons

        served_queues.also_used.append(lambda: (recording.queue_of(one.name) for one in kinds.all()))
        reasons.LOADERS.append(kinds.all)
