"""Second factors in the admin: who has which, never what it holds."""

from __future__ import annotations

from typing import Any

import allauth.mfa.admin  # noqa: F401  # registers what is registered anew here
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import Record
from people.admin import search

admin.site.unregister(Authenticator)


@admin.register(Authenticator)
class AuthenticatorAdmin(Record):
    list_display = ("type", "person", "added", "used")
    list_select_related = ("user",)
    ordering = ("-id",)
    fields = ("type", "person", "added", "used")
    search_help_text = "The beginning of the person's email address."
    nothing = "Nobody has set up a second factor yet."

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return ["user"]

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(user__in=search.people(term))

    @admin.display(description="person")
    def person(self, factor: Any) -> SafeString:
        return columns.to_row("people.user", factor.user_id, factor.user)

    @admin.display(description="added")
    def added(self, factor: Any) -> SafeString:
        return columns.instant(factor.created_at)

    @admin.display(description="last used")
    def used(self, factor: Any) -> SafeString:
        return columns.instant(factor.last_used_at)
