"""Named locks of a person, which programs take over the API."""
