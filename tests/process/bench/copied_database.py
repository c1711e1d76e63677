"""Run by `test_faults.py`: copies the migrated database into the engine of the fault matrix."""

from __future__ import annotations

import os

os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

from django.conf import settings

from tests import migrated

migrated.fill(str(settings.DATABASES["default"]["NAME"]))
