"""Counters in the admin, read only."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from counters.models import Shard
from people.admin.user import ByPersonAdmin


@admin.register(Shard)
class CounterAdmin(ByPersonAdmin):
    list_display = fields = ("name", "person", "value")
    empty_text = _("Nobody has a counter.")

    value = columns.column(_("value"), "", lambda shard: shard.total)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        shards: Any = super().get_queryset(request)
        return shards.one_of_each()
