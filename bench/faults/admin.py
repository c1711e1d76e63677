"""The admin pages of the entries."""

from __future__ import annotations

from django.contrib import admin

from bench.faults.models import DeadLetter, Entry
from bench.faults.tasks import ENTRY
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


@admin.register(Entry)
class EntryAdmin(WorkAdmin):
    owner, related = "", ()
    kind = ENTRY


@admin.register(DeadLetter)
class DeadEntryAdmin(DeadLetterAdmin):
    owner, related = "", ()
    kind = ENTRY
    newest = ("why", "settled", "key")
