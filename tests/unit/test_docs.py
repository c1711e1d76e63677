"""The documentation names only tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
# The example of docs/adding-a-provider.md, which its reader writes.
EXAMPLES = {"tests/unit/notifications/providers/test_pigeon.py"}


def test_every_test_that_the_documentation_names_exists() -> None:
    pages = [*(CHECKOUT / "docs").glob("*.md"), CHECKOUT / "README.md"]
    named = {path.rstrip("/.") for page in pages for path in re.findall(r"\btests/[\w./]+", page.read_text())}
    assert len(named) > 20
    assert {path for path in named - EXAMPLES if not (CHECKOUT / path).exists()} == set()
