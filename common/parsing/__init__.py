"""Parsing and computing with what strangers wrote, within limits."""
