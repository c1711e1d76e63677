"""The lines of `script/server`, which its forks write themselves."""

from __future__ import annotations

import io

from config.processes.fork import LabelledOutput


def test_each_line_begins_with_the_label_of_who_writes_it_once_it_is_whole() -> None:
    written = io.BytesIO()
    output = LabelledOutput(written, encoding="utf-8", line_buffering=True)
    print("half", end="", file=output)
    assert written.getvalue() == b""
    print(" and half\nnext", file=output)
    assert written.getvalue() == b"carillon | half and half\ncarillon | next\n"
