"""The check of a job: what it reads, decides, writes and may cost."""
