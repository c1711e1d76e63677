"""Kinds of job that need reminders; see `jobs.kinds`."""
