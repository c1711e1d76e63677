"""Runs of flows: an event is applied, steps start and end, people act on them."""
