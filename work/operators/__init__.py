"""For operators: problems as they come, and a summary each day."""
