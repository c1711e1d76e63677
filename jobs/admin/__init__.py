"""The admin of jobs and connections."""

from jobs.admin import batch, connection, job

__all__ = ["batch", "connection", "job"]
