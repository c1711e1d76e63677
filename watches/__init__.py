"""Watches: schedules that expect a sign of life, a ping."""
