"""The abstract rows of work and of its attempts, what people did to dead letters, daily emails, backups, the hold."""

from work.models.backup import Backup
from work.models.hold import Hold
from work.models.intervention import Intervention, InterventionItem, Summary
from work.models.rows import DEAD_LETTERS, Attempt, Chained, Reasoned, Words, Work
from work.models.total import CountedAttempts, PersonTotal, Rollup, Total
