"""The broker: publishing, waking, transport, what beat has to send, and how busy a worker is."""
