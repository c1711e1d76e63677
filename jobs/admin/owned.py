"""The base of the admin of work that belongs to people, and a column with a link to a notification."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import as_uuid
from people.admin.user import to_person
from work.admin.rows import WorkAdmin


class OwnedWorkAdmin(WorkAdmin):
    """Found by their id, or by one of the ids in `search_ids`."""

    owner = "user"
    related: ClassVar[tuple[str, ...]] = ("user",)
    search_ids: ClassVar[tuple[str, ...]]

    person = columns.column(_("person"), "user", to_person)

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        condition = Q(*((name, key) for name in ("pk", *self.search_ids)), _connector=Q.OR)
        return rows.none() if key is None else rows.filter(condition)


def to_notification(key: UUID | None) -> SafeString:
    return columns.to_row("notifications.notification", key, "notification")
