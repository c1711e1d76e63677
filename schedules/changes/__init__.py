"""Changes of schedules: one, many, deletion and restoring."""
