"""The tables of jobs."""

from jobs.models.batch import Batch, BatchAttempt, DeadBatch, Leaver, Part
from jobs.models.connection import Connection
from jobs.models.job import DeadLetter, Job, JobAttempt, Memory, Result
