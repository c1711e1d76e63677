"""A registry finds one class to a file, by its name, in the order of pages."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from common.registry import Registered, Registry
from jobs import connections, kinds
from notifications import providers


class Animal:
    position = 100


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = ModuleType("zoo")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "zoo", package)
    for name in ("ape", "bee", "cat"):
        monkeypatch.delitem(sys.modules, f"zoo.{name}", raising=False)
    return tmp_path


def write(zoo: Path, module: str, name: str, fields: str = "") -> None:
    text = f"from {__name__} import Animal\n\n\nclass Own(Animal):\n    name = label = '{name}'\n{fields}"
    (zoo / f"{module}.py").write_text(text)


def test_they_are_listed_by_position_and_then_by_label(zoo: Path) -> None:
    for name, fields in (("ape", ""), ("bee", "    position = 1\n"), ("cat", "")):
        write(zoo, name, name, fields)
    registry: Registry[Registered] = Registry(Animal, ["zoo"], "name")
    assert list(registry.by_name) == ["bee", "ape", "cat"]
    assert (registry.label("cat"), registry.label("dog"), registry.find("dog")) == ("cat", "dog", None)


def test_one_that_is_named_otherwise_than_its_file_is_refused(zoo: Path) -> None:
    write(zoo, "ape", "bee")
    with pytest.raises(TypeError, match=r"zoo\.ape defines “bee”"):
        Registry(Animal, ["zoo"], "name").all()


def test_every_registry_has_what_stands_in_its_files() -> None:
    assert list(connections.registry.by_name) == ["github", "calendar", "address"]
    assert {"github_streak", "report", "series"} <= kinds.registry.by_name.keys()
    assert providers.all()[0].kind == "inbox"
