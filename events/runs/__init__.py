"""Runs of flows: an event is applied, steps are begun and end, people act on them."""
