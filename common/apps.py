import logging

from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.core.validators import MaxLengthValidator
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy

log = logging.getLogger(__name__)

# The error of every field for which no other text is given.
MaxLengthValidator.message = gettext_lazy("This is %(show_value)d characters long; at most %(limit_value)d fit.")


class CommonConfig(AppConfig):
    name = "common"

    def ready(self) -> None:
        from common.admin import rights
        from common.database import postgres, schema, storage

        if settings.UNENCRYPTED:
            log.warning("Connections to other hosts are not secured by TLS: see %s", ", ".join(settings.UNENCRYPTED))
        connection_created.connect(postgres.replace_broken_together)
        post_migrate.connect(storage.set_parameters)
        post_migrate.connect(schema.refuse_foreign, sender=apps.get_app_config("work"))  # once is enough
        checks.register(rights.check_owners)
        # The admin labels columns with the names of fields: see library_texts.py.
        for model in apps.get_models():
            for field in model._meta.local_fields:
                if type(field.verbose_name) is str:
                    field.verbose_name = gettext_lazy(field.verbose_name)
