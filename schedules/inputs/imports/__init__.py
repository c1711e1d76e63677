"""Reminders from files of other programs: one module for each format, `files` finds which, `items` stores them."""
