"""People, groups and events of security in the admin, and the base of the admin of rows that belong to people."""

from ipaddress import ip_address
from typing import Any, ClassVar, cast

from allauth.account.signals import user_signed_up
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as StockGroupAdmin, UserAdmin as StockUserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from common.admin import columns
from common.admin.base import BaseAdmin, ReadOnlyAdmin, as_uuid
from common.admin.damaged import SafeAdmin
from common.admin.filters import Period, newest, newest_filter
from common.texts.types import StrOrPromise
from people import teams
from people.models import Membership, Role, SecurityEvent, User
from people.sign_in import sessions

MOST_PEOPLE = 100
"""The limit of a search; more matches are not useful."""


def person_ids(term: str) -> list[int]:
    """Up to `MOST_PEOPLE` ids of people whose email address begins with `term`, by index."""
    matches = User.objects.annotate(lower=Lower("email")).filter(
        Q(lower=term.lower()) | Q(email__startswith=term) | Q(email__startswith=term.lower())
    )
    return list(matches.values_list("pk", flat=True)[:MOST_PEOPLE])


def to_person(user: User | None) -> SafeString:
    """A link with the address; of a team, which has none, with its name."""
    if user is None:
        return columns.to_row("people.user", None, "")
    name = gettext("%(name)s (team)") % {"name": user.get_full_name()} if user.is_team else user.email
    return columns.to_row("people.user", user.pk, name)


class OwnedAdmin(ReadOnlyAdmin):
    """Rows of people, found by their id or by the beginning of their person's email address."""

    owner = "user"
    related: ClassVar[tuple[str, ...]] = ("user",)
    link_lookups: ClassVar[tuple[str, ...]] = ("user__id__exact",)
    search_fields: ClassVar[tuple[str, ...]] = ("id",)
    search_help_text: StrOrPromise = _("An id, or the beginning of a person's email address.")

    person = columns.column(_("person"), "user", to_person)
    created = columns.instant_column(_("created"), "created_at")
    changed = columns.instant_column(_("changed"), "updated_at")
    deleted = columns.instant_column(_("deleted"), "deleted_at")
    verified = columns.instant_column(_("confirmed"), "verified_at")
    failing = columns.instant_column(_("failing since"), "failing_since")
    disabled = columns.instant_column(_("disabled"), "disabled_at")
    removed = columns.instant_column(_("removed"), "removed_at")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.filter(**{f"{self.owner}__in": person_ids(term)}) if key is None else rows.filter(pk=key)


class ByPersonAdmin(OwnedAdmin):
    """Rows whose ids are shown nowhere."""

    search_help_text = _("The beginning of the person's email address.")


@admin.register(User)
class UserAdmin(BaseAdmin, StockUserAdmin):  # type: ignore[misc, type-arg]  # django-unfold ships no types
    owner = "pk"
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "name", "time_zone", "is_active", "is_staff", "is_team", "joined", "rows")
    list_filter = ("is_staff", "is_active", "is_team")
    search_fields = ("email",)
    search_help_text = _("The beginning of an email address.")
    filter_horizontal = ()
    autocomplete_fields = ("groups",)
    readonly_fields = ("joined", "signed_in", "rows")
    fieldsets = (
        columns.section(None, "email", "name", "language", "time_zone", "password"),
        columns.section(_("Rows"), "rows", ("joined", "signed_in")),
        columns.section(_("Quota"), ("events_per_day", "event_megabytes_per_day")),
        columns.section(_("Admin access"), "is_active", "is_staff", "is_superuser", "groups"),
    )
    add_fieldsets = (columns.section(None, "email", "name", "password1", "password2"),)
    empty_text = _("No accounts yet.")
    actions = ("sign_out",)

    @admin.action(description=_("Sign out everywhere"), permissions=["change"])
    def sign_out(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        people = list(queryset)
        count = sum(sessions.end_others(person, None) for person in people)
        self.log_many(request, people, "Signed out everywhere.")
        self.message_user(
            request,
            ngettext("%(count)s browser is signed out.", "%(count)s browsers are signed out.", count)
            % {"count": count},
        )

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(pk__in=person_ids(term))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Only a superuser may change rights. A team has none, and nobody signs in as one."""
        fixed: tuple[str, ...] = tuple(super().get_readonly_fields(request, obj))
        if obj is not None and obj.is_team:
            return (*fixed, "email", "password", "is_staff", "is_superuser", "groups")
        superuser = getattr(request.user, "is_superuser", False)
        return fixed if superuser else (*fixed, "is_staff", "is_superuser", "groups")

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        if id.isdecimal() and User.objects.filter(pk=id, is_team=True).exists():
            raise PermissionDenied
        return super().user_change_password(request, id, form_url)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # Deleting would delete the person's history. Clear "active" instead.
        return False

    def save_model(self, request: HttpRequest, obj: User, form: forms.Form, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            user_signed_up.send(User, request=request, user=obj)

    joined = columns.instant_column(_("joined"), "date_joined")
    signed_in = columns.instant_column(_("last signed in"), "last_login")

    @admin.display(description=_("rows"))
    def rows(self, user: User) -> SafeString:
        return columns.many(
            columns.to_list("schedules.schedule", gettext("schedules"), user__id__exact=user.pk),
            columns.to_list("events.rule", gettext("rules"), user__id__exact=user.pk),
            columns.to_list("notifications.channel", gettext("channels"), user__id__exact=user.pk),
            columns.to_list("people.membership", gettext("members"), team__id__exact=user.pk)
            if user.is_team
            else columns.to_list("people.membership", gettext("teams"), person__id__exact=user.pk),
            columns.to_list("notifications.notification", gettext("notifications"), user__id__exact=user.pk),
        )


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(StockGroupAdmin, SafeAdmin):
    """Only a superuser may change groups, which give permissions."""

    owner = ""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        user = cast(User, request.user)
        return user.is_active and user.is_superuser

    has_add_permission = has_delete_permission = has_change_permission


@admin.register(Membership)
class MembershipAdmin(OwnedAdmin):
    owner = "team"
    related = ("team", "person")
    list_display = ("joined", "of_team", "member", "role")
    list_filter = (newest_filter("role", lambda: Role.choices),)
    fields = ("joined", "of_team", "member", "role")
    link_lookups = ("team__id__exact", "person__id__exact")
    search_help_text = _("The beginning of the email address of the person or the team, or the id of a membership.")
    empty_text = _("No teams yet. People make them on their own pages.")
    actions = ("make_owner",)

    @admin.action(description=_("Make owner"), permissions=["act"])
    def make_owner(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        chosen = list(queryset)
        made = [member for member in chosen if teams.make_owner(member, cast(User, request.user))]
        self.log_many(request, made, "Made an owner.")
        skipped = gettext("%(count)s skipped: the team has an active owner, or the person is switched off.")
        self.tell_changed(request, len(chosen), len(made), gettext("%(count)s made an owner."), skipped)

    joined = columns.instant_column(_("joined"), "joined_at")
    of_team = columns.column(_("team"), "team", to_person)
    member = columns.column(_("person"), "person", to_person)

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        if (key := as_uuid(term)) is not None:
            return rows.filter(pk=key)
        people = person_ids(term)
        return newest(rows.filter(Q(team__in=people) | Q(person__in=people)))


@admin.register(SecurityEvent)
class SecurityEventAdmin(OwnedAdmin):
    list_display = ("when", "type", "person", "address", "agent")
    list_filter = (newest_filter("type", lambda: SecurityEvent.Type.choices), Period)
    fields = (("when", "type"), "person", ("address", "agent"), "detail")
    search_help_text = _("The beginning of the person's email address, or an IP address.")
    empty_text = _("Nothing has happened yet.")

    when = columns.instant_column(_("when"), "at")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        try:
            return newest(rows.filter(address=str(ip_address(term))))
        except ValueError:
            return rows.filter(user__in=person_ids(term))
