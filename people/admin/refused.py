"""Mailboxes whose readers want no more email; deleting a row allows it again, for a reader who lost the link."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import BaseAdmin, Record
from people import mailboxes
from people.models import RefusedMailbox


@admin.register(RefusedMailbox)
class RefusedMailboxAdmin(Record):
    list_display = ("mailbox", "refused")
    ordering = ("mailbox",)
    fields = ("mailbox", "refused")
    search_help_text = "An email address, however it is written."
    nothing = "No reader has refused email."

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return ["mailbox"]

    def found(self, rows: QuerySet[RefusedMailbox], term: str) -> QuerySet[RefusedMailbox]:
        return rows.filter(pk=mailboxes.mailbox(term))

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return BaseAdmin.has_delete_permission(self, request, obj)

    @admin.display(description="refused")
    def refused(self, row: RefusedMailbox) -> SafeString:
        return columns.instant(row.refused_at)
