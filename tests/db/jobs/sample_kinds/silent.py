"""The sample, which never speaks."""

from __future__ import annotations

from tests.db.jobs.sample_kinds.sample import Sample


class Silent(Sample):
    name = "silent"
    label = "Silent sample"
    speaks = False
