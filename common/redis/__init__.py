"""Redis: its clients, the cache, limits that are counted in it, and which queues are served."""
