"""A person's reminders, rules, channels and settings as a file: written, and read again, here or elsewhere."""
