from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate, post_save
from django.utils.translation import gettext_lazy as _


class SchedulesConfig(AppConfig):
    name = "schedules"
    verbose_name = _("Schedules")

    def ready(self) -> None:
        from allauth.account.signals import user_signed_up

        from jobs import kinds
        from notifications.deliveries import acknowledge, quiet_changes
        from schedules import job_kinds
        from schedules.changes import answers
        from schedules.firing import holidays
        from schedules.job_kinds import onboarding
        from schedules.parts import mirror

        kinds.PACKAGES.append(job_kinds.__name__)
        user_signed_up.connect(onboarding.begin, dispatch_uid="onboarding")
        post_delete.connect(mirror.delete, sender="schedules.Schedule")
        acknowledge.LOCKS.append(answers.lock_cause)
        acknowledge.LISTENERS.append(answers.message_done)
        acknowledge.UNDO_LISTENERS.append(answers.message_undone)
        quiet_changes.WITHDRAWS.append(holidays.silences)
        for signal in (post_save, post_delete):
            signal.connect(holidays.release_waiting, sender="schedules.Holiday")
        post_migrate.connect(mirror.create_indexes, sender=self)
