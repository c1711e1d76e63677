"""The kind of job of the fault matrix."""
