"""Sign-in in the admin: email addresses, second factors (never their secrets), refused mailboxes."""

from typing import Any

import allauth.mfa.admin  # registers Authenticator, which is unregistered below
import allauth.socialaccount.admin  # noqa: F401  # likewise
from allauth.account.admin import EmailAddressAdmin as StockEmailAddressAdmin
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import BaseAdmin, ReadOnlyAdmin
from people.admin.user import ByPersonAdmin, person_ids, to_person
from people.models import ApiToken, RefusedMailbox, validate_printable
from people.sign_in import mailboxes

# What an OpenID provider says of people; allauth's tables for providers and tokens stay empty.
for model in (SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(model)
admin.site.unregister(EmailAddress)


@admin.register(EmailAddress)
class EmailAddressAdmin(BaseAdmin, StockEmailAddressAdmin):  # type: ignore[misc]  # allauth ships no types
    owner = "user"
    list_display = ("email", "person", "primary", "verified")
    list_filter = ()
    list_select_related = ("user",)
    search_help_text = ByPersonAdmin.search_help_text
    actions = None  # stock's action verifies addresses without a confirmation
    raw_id_fields = ()
    autocomplete_fields = ("user",)
    empty_text = _("No addresses yet.")

    person = columns.column(_("person"), "user", to_person)

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(user__in=person_ids(term))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The person is fixed. Only a superuser may verify an address."""
        fixed = () if obj is None else ("user",)
        return fixed if getattr(request.user, "is_superuser", False) else (*fixed, "verified")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "email":
            field.validators = [*field.validators, validate_printable]
        return field

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """A changed address is unverified, unless a superuser verified it."""
        if "email" in form.changed_data and "verified" not in form.fields:
            obj.verified = False
        super().save_model(request, obj, form, change)


admin.site.unregister(Authenticator)


@admin.register(Authenticator)
class AuthenticatorAdmin(ByPersonAdmin):
    list_display = fields = ("type", "person", "added", "used")
    empty_text = _("No second factors yet.")

    added = columns.instant_column(_("added"), "created_at")
    used = columns.instant_column(_("last used"), "last_used_at")


@admin.register(ApiToken)
class ApiTokenAdmin(ByPersonAdmin):
    list_display = ("label", "prefix", "person", "calls", "created", "used", "ends")
    fields = (("label", "prefix"), "person", "scopes", "calls", ("created", "used"), ("ends", "revoked"))
    empty_text = _("No API tokens yet. People make them on their settings page.")

    used = columns.instant_column(_("last used"), "last_used_at")
    ends = columns.instant_column(_("expires"), "expires_at")
    revoked = columns.instant_column(_("revoked"), "revoked_at")


@admin.register(RefusedMailbox)
class RefusedMailboxAdmin(ReadOnlyAdmin):
    """Deleting a row allows emails again, for a reader who lost the link."""

    owner = ""
    list_display = ("mailbox", "refused")
    ordering = ("mailbox",)
    fields = ("mailbox", "refused")
    search_fields = ("mailbox",)
    search_help_text = _("An email address, in any spelling.")
    empty_text = _("No mailbox has refused emails.")

    def search(self, rows: QuerySet[RefusedMailbox], term: str) -> QuerySet[RefusedMailbox]:
        return rows.filter(pk=mailboxes.mailbox(term))

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return BaseAdmin.has_delete_permission(self, request, obj)

    refused = columns.instant_column(_("refused"), "refused_at")
