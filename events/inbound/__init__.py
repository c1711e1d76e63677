"""Webhooks that come in: verified, mapped to events, kept to look at."""
