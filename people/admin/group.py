"""Groups of staff, for their permissions."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as StockGroupAdmin
from django.contrib.auth.models import Group
from unfold.admin import ModelAdmin

admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(StockGroupAdmin, ModelAdmin):  # type: ignore[misc]  # django-unfold ships no types
    """Stock, in our clothes: there are as many groups as kinds of staff."""
