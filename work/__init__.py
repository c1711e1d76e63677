"""Durable work on tables, carried by Celery: the one engine of every kind of work."""
