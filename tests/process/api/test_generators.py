"""Tools that others made accept the OpenAPI document, and make a client of it that can be used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from openapi_spec_validator import validate

from api.v1 import api

_IMPORT_ALL = """
import importlib, pkgutil, made
names = [module.name for module in pkgutil.walk_packages(made.__path__, "made.")]
for name in names:
    importlib.import_module(name)
print(sum(name.startswith("made.api.") and name.count(".") == 3 for name in names))
"""


def test_the_document_is_valid() -> None:
    validate(json.loads(json.dumps(api.get_openapi_schema())))


def test_the_usual_generator_makes_all_operations(tmp_path: Path) -> None:
    document = api.get_openapi_schema()
    (tmp_path / "document.json").write_text(json.dumps(document))
    (tmp_path / "config.json").write_text('{"post_hooks": []}')
    program = Path(sys.executable).with_name("openapi-python-client")
    order = "generate --path document.json --config config.json --meta none --output-path made --fail-on-warning"
    made = subprocess.run([program, *order.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout
    seen = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (seen.returncode, seen.stderr) == (0, "")
    assert int(seen.stdout) == sum(map(len, document["paths"].values()))
