"""A whole account: its rows, their download and deletion."""
