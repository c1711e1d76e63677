"""The documentation names only files that exist."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
# The examples of docs/adding-a-provider.md and docs/adding-a-job-kind.md, which their readers write.
EXAMPLES = {
    "jobs/kinds/tides.py",
    "notifications/providers/pigeon.py",
    "tests/unit/notifications/providers/test_pigeon.py",
}
FOLDERS = (
    "api|bench|client|common|config|demo|events|jobs|notifications|people|schedules|script|static|templates|tests|work"
)


def test_every_file_that_the_documentation_names_exists() -> None:
    pages = [*(CHECKOUT / "docs").glob("*.md"), CHECKOUT / "README.md"]
    pattern = rf"(?<![\w./-])(?:{FOLDERS})/[\w./]+"
    named = {path.rstrip("/.") for page in pages for path in re.findall(pattern, page.read_text())}
    assert len(named) > 60
    assert {path for path in named - EXAMPLES if not (CHECKOUT / path).exists()} == set()
