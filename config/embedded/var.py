"""Where Carillon keeps what belongs to this machine alone: engines, secrets, mail that had nowhere to go."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def var_dir() -> Path:
    """`var/` of the checkout, or the directory that CARILLON_VAR names; absolute, perhaps not made yet."""
    return (CHECKOUT / (os.environ.get("CARILLON_VAR") or "var")).resolve()
