"""JMESPath's compliance suite, as jmespath.py has it (see jmespath/LICENSE), under our limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from common.parsing import expressions
from common.parsing.budget import Budget
from common.parsing.expressions import Invalid

FILES = sorted((Path(__file__).parent / "jmespath").glob("*.json"))


def cases(file: Path) -> list[tuple[Any, dict[str, Any]]]:
    return [(suite["given"], case) for suite in json.loads(file.read_text()) for case in suite["cases"]]


@pytest.mark.filterwarnings("ignore:deprecated string literal syntax:PendingDeprecationWarning")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_case_gives_its_result_or_is_refused(file: Path) -> None:
    for given, case in cases(file):
        if "error" in case:
            with pytest.raises(Invalid):
                expressions.find(case["expression"], given, Budget())
        else:
            assert expressions.find(case["expression"], given, Budget()) == case["result"], case["expression"]


def test_no_case_is_missing() -> None:
    assert sum(len(cases(file)) for file in FILES) == 892
