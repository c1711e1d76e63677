from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class CommonConfig(AppConfig):
    name = "common"

    def ready(self) -> None:
        from common import storage

        post_migrate.connect(storage.set_parameters)
