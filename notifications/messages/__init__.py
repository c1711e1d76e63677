"""What a message holds: its text, links and types of changes. Pure."""
