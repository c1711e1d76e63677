"""Values derived from a schedule's row: its slots, tags, sentences, and its mirror for celery-beat."""
