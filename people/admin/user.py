"""People in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as StockUserAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from common.admin import columns
from common.admin.base import BaseAdmin
from people.admin import search
from people.models import User


@admin.register(User)
class UserAdmin(BaseAdmin, StockUserAdmin):  # type: ignore[misc, type-arg]  # django-unfold ships no types
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "name", "time_zone", "is_active", "is_staff", "joined", "rows")
    list_filter = ("is_staff", "is_active")
    ordering = ("-id",)
    search_fields = ("email",)
    search_help_text = "The beginning of an email address."
    filter_horizontal = ()
    autocomplete_fields = ("groups",)
    readonly_fields = ("joined", "last_login", "rows")
    fieldsets = (
        (None, {"fields": ("email", "name", "time_zone", "password")}),
        ("Their rows", {"fields": ("rows", ("joined", "last_login"))}),
        ("May enter the admin", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "name", "password1", "password2")}),)
    nothing = "Nobody has signed up yet."

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(pk__in=search.people(term))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return BaseAdmin.lookup_allowed(self, lookup, value, request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Only a superuser says who is staff: others could make themselves anything."""
        fixed: tuple[str, ...] = tuple(super().get_readonly_fields(request, obj))
        superuser = getattr(request.user, "is_superuser", False)
        return fixed if superuser else (*fixed, "is_staff", "is_superuser", "groups")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # All that was ever sent to a person hangs on their row: switch "active" off instead.
        return False

    @admin.display(description="joined")
    def joined(self, user: User) -> SafeString:
        return columns.instant(user.date_joined)

    @admin.display(description="rows")
    def rows(self, user: User) -> SafeString:
        return columns.many(
            columns.to_list("schedules.schedule", "schedules", user__id__exact=user.pk),
            columns.to_list("notifications.channel", "channels", user__id__exact=user.pk),
            columns.to_list("notifications.notification", "notifications", user__id__exact=user.pk),
        )
