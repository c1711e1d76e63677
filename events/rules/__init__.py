"""Rules of people: their changes, preview and sentences."""
