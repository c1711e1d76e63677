"""Events of security in the admin: what happened to whom, from where."""

from ipaddress import ip_address
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyAdmin
from common.admin.filters import Period, newest, newest_filter
from people.admin.user import person_ids, to_person
from people.models import SecurityEvent


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    owner = "user"
    list_display = ("when", "type", "person", "address", "agent")
    list_display_links = ("when",)
    list_select_related = ("user",)
    list_filter = (newest_filter("type", lambda: SecurityEvent.Type.choices), Period)
    ordering = ("-id",)
    link_lookups = ("user__id__exact",)
    fields = (("when", "type"), "person", ("address", "agent"), "detail")
    search_fields = ("user",)
    search_help_text = _("The beginning of the person's email address, or an IP address.")
    empty_text = _("Nothing has happened yet.")

    when = columns.instant_column(_("when"), "at")
    person = columns.column(_("person"), "user", to_person)

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        try:
            return newest(rows.filter(address=str(ip_address(term))))
        except ValueError:
            return rows.filter(user__in=person_ids(term))
