"""What an operator types into a search box, made into lookups that an index serves: a key, or a person's address."""

from __future__ import annotations

from django.db.models import Q
from django.db.models.functions import Lower

from people.models import User

# A search for "a" means nobody in particular.
MOST_PEOPLE = 100


def people(term: str) -> list[int]:
    """The ids of up to `MOST_PEOPLE` people whose email address is `term` or begins with it."""
    found = User.objects.annotate(lower=Lower("email")).filter(
        Q(lower=term.lower()) | Q(email__startswith=term) | Q(email__startswith=term.lower())
    )
    return list(found.values_list("pk", flat=True)[:MOST_PEOPLE])
