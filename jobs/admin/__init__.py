"""The admin of jobs and connections."""

from jobs.admin import batch, job

__all__ = ["batch", "job"]
