"""Deliveries: how they are recorded, and the kind of work that they are."""
