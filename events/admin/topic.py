"""Topics in the admin, with how many are subscribed, counted up to a limit."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import ReadOnlyAdmin, as_uuid
from common.admin.columns import badge
from events import topics
from events.models import Topic
from notifications.admin import cells
from people.admin.user import person_ids


@admin.register(Topic)
class TopicAdmin(ReadOnlyAdmin):
    list_display = ("name", "slug", "person", "subscribers", "access", "made")
    list_select_related = ("user",)
    ordering = ("-id",)
    link_lookups = ("user__id__exact",)
    fieldsets = (
        (None, {"fields": (("name", "slug"), "description", ("person", "access"), ("subscribers", "made"))}),
        ("Says", {"fields": ("title", "body")}),
    )
    search_fields = ("name",)
    search_help_text = "The beginning of the owner's email address, or a topic's id."
    empty_text = "No topics yet. People create them on their own pages."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return topics.with_subscribers(super().get_queryset(request).select_related("user"))

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.filter(user__in=person_ids(term)) if key is None else rows.filter(pk=key)

    @admin.display(description="owner")
    def person(self, topic: Topic) -> SafeString:
        return cells.person(topic)

    subscribers = columns.column("subscribers", "subscribers", topics.shown_count)

    @badge("access", {"open": "success", "by its owner": "info"})
    def access(self, topic: Topic) -> str:
        return "open" if topic.is_open else "by its owner"

    made = columns.instant_column("made", "created_at")
