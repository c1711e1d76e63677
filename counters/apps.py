from django.apps import AppConfig


class CountersConfig(AppConfig):
    name = "counters"
    default_auto_field = "django.db.models.BigAutoField"
