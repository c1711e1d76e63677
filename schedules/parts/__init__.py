"""What follows from a schedule's row: its slots, tags, sentences, and its mirror for celery-beat."""
