"""Functions that `test_faults.py` calls in another process: it prepares the fault matrix once, and forks programs."""

from __future__ import annotations

import json
import os
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any, cast

from django.conf import settings

from bench.faults import __main__ as command
from bench.faults.brokers import OneRedis
from bench.faults.environment import prepare
from demo.child import die_with_parent
from tests import migrated
from tests.zygote import Zygote


def start(var: str) -> None:
    """Start the engines and set Django up."""

    def broker() -> OneRedis:  # between the two: the migrated tables are copied, as for other tests
        migrated.fill(str(settings.DATABASES["default"]["NAME"]))
        return OneRedis()

    die_with_parent()
    os.environ["CARILLON_VAR"] = var
    prepare(broker=broker)
    Zygote().__enter__()  # until this process ends


def play(*arguments: str) -> dict[str, Any]:
    """Run cells; returns their results by number."""
    with redirect_stdout(StringIO()) as output:
        command.play(command.parse(["--json", *arguments]), OneRedis())
    return cast(dict[str, Any], json.loads(output.getvalue().splitlines()[-1])["ours"])


def walk_through_the_second_kind() -> None:
    import_module("tests.process.bench.second_kind")
