"""The sample through a connection."""

from __future__ import annotations

from tests.db.jobs.sample_kinds.sample import Sample


class Linked(Sample):
    name = "linked"
    label = "Linked sample"
    connection = "sample"
