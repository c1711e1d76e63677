"""The broker: publishing, waking, transport, and how busy a worker is."""
