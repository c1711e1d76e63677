"""A whole account: its settings, its rows, their download and deletion."""
