"""`StrOrPromise`: a text for people, or one that is translated when it is shown."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise
else:
    from django.utils.functional import Promise

    StrOrPromise = str | Promise

__all__ = ["StrOrPromise"]
