"""Channels: where messages go."""
