"""Time zones, civil time, and dates as people write them."""
