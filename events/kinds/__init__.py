"""The kinds of work that events need."""
