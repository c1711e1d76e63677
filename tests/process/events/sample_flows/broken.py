"""A file with an error."""

raise ImportError("no such thing")
