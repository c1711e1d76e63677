"""The tables of jobs."""

from jobs.models.connection import Connection
from jobs.models.job import DeadLetter, Job, JobAttempt, Memory
from jobs.models.result import Result

__all__ = ["Connection", "DeadLetter", "Job", "JobAttempt", "Memory", "Result"]
