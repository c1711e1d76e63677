"""Named counters of a person, to which programs add over the API."""
