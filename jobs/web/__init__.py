"""The pages of connections."""
