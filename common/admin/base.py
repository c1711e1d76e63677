"""Base admin: capped counts, indexed filters, rights over other accounts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from typing import Any, ClassVar, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Field, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext as _
from unfold.admin import TabularInline, checkbox
from unfold.templatetags import unfold_list

from common.admin import columns, rights
from common.admin.damaged import SafeAdmin
from common.database import replica
from common.texts.numbers import grouped
from common.texts.types import StrOrPromise

MOST = 10_000


class AtLeast(int):
    """A count that stopped at its limit; shown as "more than …"."""

    def __str__(self) -> str:
        return _("more than %(count)s") % {"count": grouped(int(self) - 1)}


def count_up_to(rows: Any, most: int) -> int:
    """Count a queryset's rows; `AtLeast` if there are more than `most`."""
    count: int = rows.order_by().values("pk")[: most + 1].count()  # without what the list shows beside
    return AtLeast(count) if count > most else count


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # generic in its stubs alone
    @cached_property
    def count(self) -> int:
        """At most `MOST`; filters, searches and links reach the rest."""
        return count_up_to(self.object_list, MOST)


def as_uuid(term: str) -> UUID | None:
    try:
        return UUID(term.strip())
    except ValueError:
        return None


class Related:
    """Rows are read with those that they refer to by the paths `related`, and without the columns `deferred`."""

    related: ClassVar[tuple[str, ...]] = ()
    deferred: ClassVar[tuple[str, ...]] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).defer(*self.deferred)  # type: ignore[misc]  # of an admin
        return rows.select_related(*self.related) if self.related else rows


# What django-unfold renders by templates for each row of a list, although it is the same for all: it took a fifth of
# the time of the lists of `script/bench history --only pages`.
_KEY = "KEY"
_make_headers = unfold_list.result_headers


def _headers(change_list: Any) -> list[dict[str, Any]]:
    """Each row asks for all headers of its list; one of them has a box to select all."""
    if not hasattr(change_list, "made_headers"):
        change_list.made_headers = list(_make_headers(change_list))
    return change_list.made_headers


unfold_list.result_headers = _headers


@cache
def _box(language: str | None) -> str:
    return checkbox.render(ACTION_CHECKBOX_NAME, _KEY)


class BaseAdmin(Related, SafeAdmin):
    """Base of every model's admin: a constant number of queries, no counts over large tables.

    `owner` is the path of lookups to the account that owns a row; empty if rows are nobody's. `link_lookups` are the
    lookups that links from other pages use; `empty_text` is the text of an empty list. Only these lookups and the
    filters work in a URL: they have indexes, and none reads a secret column.
    """

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = list_max_show_all = 25
    sortable_by: ClassVar[tuple[str, ...]] = ()
    ordering: ClassVar[tuple[str, ...]] = ("-id",)
    empty_value_display = columns.NONE

    owner: ClassVar[str]
    link_lookups: ClassVar[tuple[str, ...]] = ()
    empty_text: ClassVar[StrOrPromise] = ""

    @admin.display(description=SafeAdmin.action_checkbox.short_description)
    def action_checkbox(self, row: Model) -> SafeString:
        return SafeString(_box(get_language()).replace(_KEY, escape(row.pk)))

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """False for an account with more rights than the operator's, and for its rows."""
        return super().has_change_permission(request, obj) and rights.may_act_on(request, obj, self.owner)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_delete_permission(request, obj) and rights.may_act_on(request, obj, self.owner)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer only accounts that the operator may act on."""
        if db_field.related_model is get_user_model():
            kwargs["queryset"] = rights.accounts_within(cast(AbstractUser, request.user))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        filters = {getattr(item, "parameter_name", item) for item in self.list_filter}
        return lookup in self.link_lookups or lookup.removesuffix("__exact") in filters

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        # PostgreSQL cannot store or search NUL.
        if any("\0" in value for _, values in request.GET.lists() for value in values):
            raise IncorrectLookupParameters
        return super().get_changelist_instance(request)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Leave out rows of accounts with more rights than the reader's; a form refuses them too."""
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        _check_keys(self.opts.pk, chosen)
        allowed = rights.rows_within(request, queryset, self.owner)
        if allowed is not queryset and allowed.filter(pk__in=chosen).count() < queryset.filter(pk__in=chosen).count():
            raise PermissionDenied
        return super().response_action(request, allowed)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        for name in self.get_autocomplete_fields(request):
            chosen = self.opts.get_field(name).related_model
            _check_keys(chosen._meta.pk, filter(None, request.POST.getlist(name)))
        return super().changeform_view(request, *args, **kwargs)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[Any, bool]:
        """Search by index; Django's default would read the whole table."""
        term = search_term.strip()
        return (self.search(queryset, term) if term else queryset), False

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        """The rows that match `term`: by default, the row with this key."""
        return rows.none() if (key := as_uuid(term)) is None else rows.filter(pk=key)

    def tell_changed(self, request: HttpRequest, chosen: int, changed: int, sentence: str, skipped: str) -> None:
        """Tell the operator how many of the `chosen` rows an action has `changed`, in these two sentences."""
        text, level = sentence % {"count": changed}, messages.SUCCESS
        if chosen > changed:
            text, level = f"{text} {skipped % {'count': chosen - changed}}", messages.WARNING
        self.message_user(request, text, level)

    def log_many(self, request: HttpRequest, rows: Iterable[Model], message: str) -> None:
        LogEntry.objects.log_actions(cast(AbstractBaseUser, request.user).pk, rows, CHANGE, message)


def _check_keys(key: Field[Any, Any], values: Iterable[str]) -> None:
    """Raise BadRequest for keys of the wrong type, which Django would pass to the database."""
    try:
        for value in values:
            key.to_python(value)
    except ValidationError as error:
        raise BadRequest from error


class ReadOnly:
    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, BaseAdmin):
    """Read-only rows, changed only by actions."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        def page() -> HttpResponse:
            answer: HttpResponse = super(ReadOnlyAdmin, self).changelist_view(request, extra_context)
            if replica.alias() == replica.ALIAS and isinstance(answer, TemplateResponse):
                answer.render()
            return answer

        return page() if request.method == "POST" else replica.read(page)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_act_permission(self, request: HttpRequest, obj: Model | str | None = None) -> bool:
        """Whether actions are allowed: they need the change permission. Buttons of a row's page pass its key."""
        row = self.get_object(request, obj) if isinstance(obj, str) else obj
        return BaseAdmin.has_change_permission(self, request, row)


class ReadOnlyInline(ReadOnly, Related, TabularInline):  # type: ignore[misc]  # django-unfold ships no types
    """Read-only rows that belong to the shown row."""

    extra = 0
    can_delete = False
    hide_title = True

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
