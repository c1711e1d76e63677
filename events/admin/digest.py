"""Digests and the dead letters among them."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from events.kinds.digest import DIGEST
from events.models import DeadDigest, Digest
from jobs.admin.owned import OwnedWorkAdmin
from work.admin.dead_letter import DeadLetterAdmin


class DigestRecord(OwnedWorkAdmin):
    kind = DIGEST
    about = (("rule_name", "person"), ("type_pattern", "key_value"), "gathered")
    technical = (("notification_id", "hops"), "cause")
    related = ("user", "rule")
    search_ids = ("notification_id",)
    search_help_text = _("The id of a digest, or of its notification.")

    rule_name = columns.column(_("rule"), "rule.name")


@admin.register(Digest)
class DigestAdmin(DigestRecord):
    list_display = ("rule_name", "state_label", "why", "person", "gathered", "available", "settled")
    empty_text = _("No rule has gathered events yet.")


@admin.register(DeadDigest)
class DeadDigestAdmin(DeadLetterAdmin, DigestRecord):
    list_display = ("rule_name", "state_label", "why", "person", "gathered", "settled", "tries", "replays")
    newest = ("rule_name", "person", "why", "settled")
