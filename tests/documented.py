"""The examples of the pages on adding something, as the modules that a reader would write."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[1] / "docs"


def example(page: str, name: str) -> ModuleType:
    """The first block of Python of the page, run as the module `name`."""
    found = re.search(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)
    assert found, page
    module = sys.modules[name] = ModuleType(name)
    exec(compile(found[1], f"docs/{page}", "exec"), module.__dict__)  # noqa: S102  # our own text
    return module
