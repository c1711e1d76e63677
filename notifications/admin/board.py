"""Messages of boards, read only."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import as_uuid
from notifications.models import BoardMessage
from people.admin.user import OwnedAdmin, to_person


@admin.register(BoardMessage)
class BoardMessageAdmin(OwnedAdmin):
    owner = "board__user"
    related = ("board__user",)
    list_display = fields = ("shown_text", "board_name", "person", "author", "created")
    link_lookups = ("board__id__exact",)
    search_fields = ("board",)
    search_help_text = _("A board's id.")
    empty_text = _("Nothing stands on any board.")

    shown_text = columns.column(_("text"), "text", columns.short)
    board_name = columns.column(_("board"), "board", lambda one: columns.to_row("notifications.channel", one.pk, one))
    person = columns.column(_("person"), "board.user", to_person)
    created = columns.instant_column(_("created"), "created_at")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(board=as_uuid(term))
