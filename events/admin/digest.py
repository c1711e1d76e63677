"""Digests and the dead letters among them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import as_uuid
from events.digest_kind import DIGEST
from events.models import DeadDigest, Digest
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


class DigestRecord(WorkAdmin):
    kind = DIGEST
    about = (("rule_name", "person"), ("type_pattern", "key_value"), "gathered")
    technical = (("notification_id", "hops"), "cause")
    list_select_related = ("user", "rule")
    search_help_text = _("The id of a digest, or of its notification.")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.none() if key is None else rows.filter(Q(pk=key) | Q(notification_id=key))

    @admin.display(description=_("person"))
    def person(self, digest: Digest) -> Any:
        return columns.to_row("people.user", digest.user_id, digest.user.email)

    rule_name = columns.column(_("rule"), "rule.name")


@admin.register(Digest)
class DigestAdmin(DigestRecord):
    list_display = ("rule_name", "state_label", "why", "person", "gathered", "available", "settled")
    empty_text = _("No rule has gathered events yet.")


@admin.register(DeadDigest)
class DeadDigestAdmin(DeadLetterAdmin, DigestRecord):
    list_display = ("rule_name", "state_label", "why", "person", "gathered", "settled", "tries", "replays")
    newest = ("rule_name", "person", "why", "settled")
