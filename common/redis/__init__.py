"""Clients of Redis, the cache, and which queues are served."""
