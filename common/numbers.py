"""Numbers in the active language."""

from django.utils.formats import number_format
from django.utils.functional import lazy


def grouped(count: int) -> str:
    """ "12,345", or "12.345" in German."""
    return number_format(count, force_grouping=True)


grouped_lazy = lazy(grouped, str)
