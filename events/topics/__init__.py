"""Topics and their subscribers."""
