"""Changes by people: connections, and reminders that have jobs."""
