"""The admin of jobs and connections."""

from jobs.admin import connection, job

__all__ = ["connection", "job"]
