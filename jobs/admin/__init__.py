"""The admin of jobs and connections."""

from jobs.admin import job

__all__ = ["job"]
