from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.utils.translation import gettext_lazy as _


class PeopleConfig(AppConfig):
    name = "people"
    verbose_name = _("People")

    def ready(self) -> None:
        from people.sign_in import second_factor, security_log, sessions  # noqa: F401  # they listen

        checks.register(_check_mail, deploy=True)


def _check_mail(**_: Any) -> list[checks.CheckMessage]:
    if not settings.EMAIL_BACKEND.endswith("filebased.EmailBackend"):
        return []
    hint = "Set EMAIL_URL, for example EMAIL_URL=smtp+tls://user:password@mail.example.org:587"
    return [
        checks.Warning("Mails are only written to files: nobody can confirm an address.", hint=hint, id="people.W001")
    ]
