"""Locks in the admin: who holds which."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from locks.models import Lock
from people.admin.user import ByPersonAdmin


@admin.register(Lock)
class LockAdmin(ByPersonAdmin):
    list_display = ("name", "person", "holder", "acquired", "expires", "fence")
    fields = ("name", "person", "holder", ("acquired", "expires"), "fence")
    empty_text = _("Nobody has taken a lock.")

    acquired = columns.instant_column(_("acquired"), "acquired_at")
    expires = columns.instant_column(_("expires"), "expires_at")
