"""Topics, their subscribers, and events for many."""
