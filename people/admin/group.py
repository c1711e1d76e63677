"""Groups of staff, for their permissions."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as StockGroupAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from unfold.admin import ModelAdmin

admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(StockGroupAdmin, ModelAdmin):  # type: ignore[misc]  # django-unfold ships no types
    """Stock, in our clothes. Only a superuser writes groups: others could give themselves any permission."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request) and bool(super().has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request) and bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request) and bool(super().has_delete_permission(request, obj))


def _is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))
