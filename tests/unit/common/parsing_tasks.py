"""What the children of the tests do."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any

from common.parsing.budget import Budget


def double(text: str) -> str:
    return text * 2


def pid() -> int:
    return os.getpid()


def loaded(name: str) -> bool:
    return any(module.partition(".")[0] == name for module in sys.modules)


def environment() -> list[str]:
    return list(os.environ)


def never_ends() -> None:
    while True:
        pass


def never_ends_in_c() -> None:
    re.match("(a+)+$", "a" * 60 + "b")


def sleeps(seconds: float) -> None:
    time.sleep(seconds)


def grows() -> int:
    found: list[bytes] = []
    while True:
        found.append(bytes(10_000_000))


def grows_in_small_steps() -> int:
    found: list[Any] = []
    while True:
        found = [found]


def breaks_down() -> None:
    os.abort()


def is_killed() -> None:
    os.kill(os.getpid(), 9)


def has_a_bug(secret: str) -> None:
    raise KeyError(secret)


def overspends() -> None:
    Budget(items=3).items(4)


def recurses() -> int:
    return recurses() + 1


def answers_much() -> bytes:
    return bytes(9 * 1024 * 1024)


def answers_code() -> Any:
    return os.system
