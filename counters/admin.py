"""Counters in the admin, read only."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from counters.models import Shard
from people.admin.user import OwnedAdmin


@admin.register(Shard)
class CounterAdmin(OwnedAdmin):
    list_display = fields = ("name", "person", "value")
    search_fields = ("user",)
    search_help_text = _("The beginning of the person's email address.")
    empty_text = _("Nobody has a counter.")

    value = columns.column(_("value"), "", lambda shard: shard.total)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        shards: Any = super().get_queryset(request)
        return shards.one_of_each()
