"""New tables get their parts at once, but none before the fields that it names."""

from __future__ import annotations

from django.db.migrations import AddField, AddIndex, CreateModel
from django.db.models import Index, IntegerField

from common.management.commands.makemigrations import merged


def test_an_index_is_made_with_its_table_unless_a_field_is_still_to_come() -> None:
    whole, later = (CreateModel(name, [("id", IntegerField())], {}) for name in ("Whole", "Later"))
    field = AddField("later", "size", IntegerField())
    indexes = [AddIndex(name, Index(fields=["id"], name=f"{name}_id")) for name in ("whole", "later", "older")]
    assert merged([whole, later, field, *indexes]) == [whole, later, field, *indexes[1:]]
    assert whole.options == {"indexes": [indexes[0].index]}
    assert later.options == {}
