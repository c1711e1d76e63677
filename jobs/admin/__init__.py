"""The admin of jobs, batches and connections."""

from jobs.admin import job
