"""Open pages follow what changes: sockets, which say that something has changed and how the inbox is now."""
