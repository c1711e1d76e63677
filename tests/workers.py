"""Gives each worker of pytest-xdist its own engines. `script/test` loads it, before Django's settings are read."""

from __future__ import annotations

import os

if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["CARILLON_VAR"] = f"{os.environ.get('CARILLON_VAR') or 'var/test'}-{_worker}"
