"""The email addresses that people sign in with."""

from __future__ import annotations

from typing import Any

from allauth.account.admin import EmailAddressAdmin as StockEmailAddressAdmin
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import BaseAdmin
from people.admin import search
from people.models import validate_printable

admin.site.unregister(EmailAddress)


@admin.register(EmailAddress)
class EmailAddressAdmin(BaseAdmin, StockEmailAddressAdmin):  # type: ignore[misc]  # allauth ships no types
    list_display = ("email", "person", "primary", "verified")
    list_select_related = ("user",)
    list_filter = ()
    actions = None  # stock's "verify" would vouch for an address that nobody has answered from
    ordering = ("-id",)
    raw_id_fields = ()
    autocomplete_fields = ("user",)
    search_help_text = "The beginning of the person's email address."
    nothing = "Nobody has signed up yet."

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return ["email"]

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(user__in=search.people(term))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """An address stays its person's. Only a superuser vouches for one that nobody has answered from."""
        fixed = () if obj is None else ("user",)
        return fixed if getattr(request.user, "is_superuser", False) else (*fixed, "verified")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "email":
            field.validators = [*field.validators, validate_printable]
        return field

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Another address has not been confirmed, unless a superuser says so."""
        if "email" in form.changed_data and "verified" not in form.fields:
            obj.verified = False
        super().save_model(request, obj, form, change)

    @admin.display(description="person")
    def person(self, address: EmailAddress) -> SafeString:
        return columns.to_row("people.user", address.user_id, address.user.email)
