"""Changes by people: connections."""
