"""The flow of the fault matrix."""
