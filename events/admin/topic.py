"""Topics in the admin, with how many are subscribed, counted up to a limit."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import columns
from common.admin.columns import badge
from events.models import Topic
from events.topics import changes
from people.admin.user import OwnedAdmin, to_person


@admin.register(Topic)
class TopicAdmin(OwnedAdmin):
    list_display = ("name", "slug", "person", "subscribers", "access", "made")
    fieldsets = (
        (None, {"fields": (("name", "slug"), "description", ("person", "access"), ("subscribers", "made"))}),
        (gettext_lazy("Says"), {"fields": ("title", "body")}),
    )
    search_fields = ("name",)
    search_help_text = gettext_lazy("The beginning of the owner's email address, or a topic's id.")
    empty_text = gettext_lazy("No topics yet. People create them on their own pages.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return changes.with_subscribers(super().get_queryset(request))

    person = columns.column(gettext_lazy("owner"), "user", to_person)
    subscribers = columns.column(gettext_lazy("subscribers"), "subscribers", changes.shown_count)

    @badge(gettext_lazy("access"), {"open": "success", "by its owner": "info"})
    def access(self, topic: Topic) -> tuple[str, str]:
        return ("open", _("open")) if topic.is_open else ("by its owner", _("by its owner"))

    made = columns.instant_column(gettext_lazy("made"), "created_at")
