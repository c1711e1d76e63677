"""The rows of a CSV file, by the names of its columns."""

import csv
import io
from collections.abc import Callable, Iterator
from itertools import islice

from common.parsing.budget import Budget
from common.texts.refusal import Refusal
from schedules.inputs.imports.items import MOST

# TickTick writes some lines before its head.
_BEFORE_HEAD = 20


class Row(dict[str, str]):
    """A row that has "" for what it leaves out. `line` is where it ends in the file."""

    line = 0

    def __missing__(self, name: str) -> str:
        return ""


def delimiter(text: str, is_head: Callable[[list[str]], bool]) -> str:
    """The mark between the cells of its head, as spreadsheets may change it; "" if it has no such head."""
    lines = text.splitlines()[:_BEFORE_HEAD]
    heads = ((mark, [cell.strip('" ') for cell in line.split(mark)]) for mark in ",;\t" for line in lines)
    return next((mark for mark, cells in heads if is_head(cells)), "")


def read(text: str, is_head: Callable[[list[str]], bool], budget: Budget) -> Iterator[Row]:
    """The rows after the head. Raises Refusal."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text, is_head) or ",")
    try:
        names = next(([*map(str.strip, cells)] for cells in islice(reader, _BEFORE_HEAD + 1) if is_head(cells)), None)
        if names is None:
            return
        for count, cells in enumerate(filter(any, reader), 1):
            budget.clock()
            if count > MOST:
                raise Refusal("import_long")
            row = Row(zip(names, map(str.strip, cells), strict=False))
            row.line = reader.line_num
            yield row
    except csv.Error:
        raise Refusal("import_no_table") from None
