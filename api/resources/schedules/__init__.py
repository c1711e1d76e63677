"""Schedules: the reminders of the pages."""
