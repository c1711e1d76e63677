"""Rows that Python cannot read or show, because SQL damaged them: the admin names them, and shows all others."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import display_for_field, display_for_value, flatten_fieldsets, lookup_field, unquote
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.exceptions import (
    BadRequest,
    ObjectDoesNotExist,
    PermissionDenied,
    SuspiciousOperation,
    ValidationError,
)
from django.db.models import Model
from django.forms.models import _get_foreign_key
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import NoReverseMatch
from django.utils.deprecation import MiddlewareMixin
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from common.admin import columns, pages
from common.database.damaged import readable
from common.database.postgres import blames_no_row

_ANSWERED = (Http404, PermissionDenied, SuspiciousOperation, BadRequest)
_MOST = 100  # rows of an inline

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Damage:
    """Why a row cannot be read or shown. `column` is one of its table or of its page."""

    model: type[Model]
    key: Any
    column: str
    error: Exception

    @property
    def row(self) -> str:
        try:
            return columns.to_row(self.model._meta.label_lower, self.key, self.key)
        except NoReverseMatch:
            return str(self.key)

    @property
    def cause(self) -> str:
        return Truncator(f"{type(self.error).__name__}: {self.error}").chars(200)

    @property
    def remedy(self) -> str:
        """The statement to run in psql."""
        options = self.model._meta
        where = f"WHERE {options.pk.column} = '{self.key}';"
        if self.column in {field.column for field in options.concrete_fields}:
            return f"UPDATE {options.db_table} SET {self.column} = … {where}"  # noqa: S608 - shown, not run
        return f"SELECT * FROM {options.db_table} {where}"  # noqa: S608 - shown, not run


class Unreadable(Exception):
    """A row that exists cannot be read."""


class SafeChangeList(ChangeList):  # type: ignore[misc]  # django-unfold ships no types
    """Without the rows that cannot be shown, once a page with them has failed; these are in `request.damaged`."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if hasattr(request, "damaged"):
            rows, damaged = readable(self.result_list)  # type: ignore[has-type]  # of an untyped class
            faults = {row.pk: _unshowable(self.model_admin, row, self.list_display) for row in rows}
            self.result_list = [row for row in rows if faults[row.pk] is None]
            request.damaged += [*_unreadable(self.model, damaged), *filter(None, faults.values())]


class SafeAutocomplete(AutocompleteJsonView):
    """Offers the rows that can be read."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"object_list": readable(context["object_list"])[0]}


class SafeAdmin(ModelAdmin):  # type: ignore[misc]  # django-unfold ships no types
    """An admin whose pages show a damaged row as such. See `DamagedRows`."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return SafeChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Django takes each ValueError for a key of another type, and says that there is no such row."""
        row = super().get_object(request, object_id, from_field)
        if row is None and from_field is None:
            with suppress(ValidationError, ValueError):
                if self.get_queryset(request).filter(pk=object_id).exists():
                    raise Unreadable
        return row


class DamagedRows(MiddlewareMixin):
    """If a page of a model's admin fails, it is made again with a line for each damaged row, or names its own.

    Other errors stay errors.
    """

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        match = request.resolver_match
        model_admin = getattr(getattr(match, "func", None), "model_admin", None)
        if model_admin is None or isinstance(error, _ANSWERED) or blames_no_row(error):
            return None
        if not model_admin.has_view_or_change_permission(request):
            return None
        if match is not None and "object_id" in match.kwargs:
            return _page(model_admin, request, unquote(match.kwargs["object_id"]))
        return _list(model_admin, request)


def _list(model_admin: Any, request: HttpRequest) -> HttpResponse | None:
    if request.method == "POST":
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)[:_MOST]
        damaged = readable(model_admin.get_queryset(request).filter(pk__in=chosen))[1]
        result = _log(_unreadable(model_admin.model, damaged))
        for damage in result:
            text = _("Damaged row: %(row)s, %(column)s: %(cause)s")
            text %= {"row": damage.key, "column": damage.column, "cause": damage.cause}
            messages.error(request, text)
        return redirect(request.get_full_path()) if result else None
    request.damaged = []  # type: ignore[attr-defined]
    page = model_admin.changelist_view(request, {"damaged": request.damaged})  # type: ignore[attr-defined]
    result = _log(request.damaged)  # type: ignore[attr-defined]
    return page.render() if result else None


def _page(model_admin: Any, request: HttpRequest, key: str) -> HttpResponse | None:
    rows, damaged = readable(model_admin.get_queryset(request).filter(pk=key))
    result = _log([*_unreadable(model_admin.model, damaged), *_of_pages(model_admin, request, rows)])
    if not result:
        return None
    return pages.page(request, "admin/damaged_row.html", _("Damaged row"), model_admin, damaged=result).render()


def _of_pages(model_admin: Any, request: HttpRequest, rows: Iterable[Model]) -> Iterator[Damage]:
    """Return the problems of the fields and inlines of readable rows."""
    for row in rows:
        names = ["__str__", *flatten_fieldsets(model_admin.get_fieldsets(request, row))]
        yield from filter(None, [_unshowable(model_admin, row, names)])
        for inline in model_admin.get_inline_instances(request, row):
            key = _get_foreign_key(model_admin.model, inline.model, inline.fk_name)
            children, damaged = readable(inline.get_queryset(request).filter(**{key.name: row})[:_MOST])
            yield from _unreadable(inline.model, damaged)
            yield from filter(None, (_unshowable(inline, child, inline.fields or ()) for child in children))


def _unreadable(model: type[Model], keys: Iterable[Any]) -> list[Damage]:
    return [
        _column(model, key) or Damage(model, key, "", ValueError("Its columns can be read, but not together."))
        for key in keys
    ]


def _column(model: type[Model], key: Any, further: int = 2) -> Damage | None:
    """The first column that cannot be read of a row, or of one that it refers to."""
    related = []
    for field in model._meta.concrete_fields:
        try:
            value = model._base_manager.filter(pk=key).values_list(field.attname, flat=True).get()
        except Exception as error:
            return Damage(model, key, str(field.column), error)
        if field.related_model and value is not None and further:
            related.append((field.related_model, value))
    return next(filter(None, (_column(other, one, further - 1) for other, one in related)), None)


def _unshowable(model_admin: Any, row: Model, names: Iterable[Any]) -> Damage | None:
    """The first of these columns or fields of a page that cannot be shown."""
    for name in names:
        try:
            field, _attr, value = lookup_field(name, row, model_admin)
            str(display_for_value(value, "") if field is None else display_for_field(value, field, ""))
        except ObjectDoesNotExist:
            continue
        except Exception as error:
            if blames_no_row(error):
                raise
            return Damage(type(row), row.pk, str(name), error)
    return None


def _log(damages: list[Damage]) -> list[Damage]:
    for damage in damages:
        log.error("%s %s, %s: %s", damage.model._meta.label, damage.key, damage.column, type(damage.error).__name__)
    return damages
