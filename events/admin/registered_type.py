"""Registered types in the admin: of people, and those for everybody."""

from django.contrib import admin
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import columns
from common.admin.columns import badge
from events.models import RegisteredType
from people.admin.user import OwnedAdmin


@admin.register(RegisteredType)
class RegisteredTypeAdmin(OwnedAdmin):
    list_display = ("name", "person", "whose", "misfits", "emitted_by", "handled_by", "made")
    fieldsets = (
        (None, {"fields": (("name", "version"), "summary", ("person", "whose"), ("misfits", "made"), "id")}),
        (gettext_lazy("For people"), {"fields": (("emitted_by", "handled_by"),)}),
        (gettext_lazy("Schema"), {"fields": ("data_schema",)}),
    )
    search_help_text = gettext_lazy("The beginning of the owner's email address, or a type's id.")
    empty_text = gettext_lazy("No types yet. People register them on their own pages.")

    misfits = columns.column(gettext_lazy("what does not fit"), "get_on_misfit_display")
    made = columns.instant_column(gettext_lazy("registered"), "created_at")

    @badge(gettext_lazy("for"), {"everybody": "success", "one person": "info"})
    def whose(self, type: RegisteredType) -> tuple[str, str]:
        return ("everybody", _("everybody")) if type.is_for_everybody else ("one person", _("one person"))
