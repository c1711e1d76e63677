"""Notifications: messages, and what became of them."""
