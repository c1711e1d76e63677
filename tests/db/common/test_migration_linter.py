"""`script/check` refuses migrations that lock, or that break processes of the release before."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import django
import pytest
from django.conf import settings

# An index is built concurrently only outside of a transaction, also where its SQL is only collected.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def linter(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("LOG_LEVEL", "WARNING")  # the script sets it, and sets Django up
    monkeypatch.setattr(django, "setup", lambda: None)
    path = str(settings.BASE_DIR / "script/lint_migrations")
    loader = SourceFileLoader("lint_migrations", path)
    spec = spec_from_loader("lint_migrations", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_migrations_since_the_first_release_lock_and_break_nothing(linter: ModuleType) -> None:
    assert linter.FIRST_RELEASE.keys() == {one.parts[-3] for one in settings.BASE_DIR.glob("*/migrations/0001_*.py")}
    assert linter.main() == 0


def test_a_migration_that_locks_or_breaks_is_named(linter: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    linter.FIRST_RELEASE = dict.fromkeys(linter.FIRST_RELEASE, 99) | {"events": 2, "people": 1}  # only of these
    assert linter.main() == 1
    named = capsys.readouterr().out
    for problem in ("CREATE INDEX locks table", "ADD CONSTRAINT without NOT VALID", "DROPPING table"):
        assert problem in named, problem
    linter.FIRST_RELEASE["events"] = 99
    linter.ACCEPTED |= {("people", "0002_sessions"): "for this test"}
    linter.main()
    assert "DROPPING table" not in capsys.readouterr().out
