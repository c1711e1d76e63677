"""A second kind of work for the fault matrix: an entry, whose effect is a row of this database."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from work.models import Attempt, Work


class Entry(Work):
    code = models.CharField(max_length=20)

    objects: ClassVar[models.Manager[Entry]]

    class Meta(Work.Meta):
        verbose_name_plural = "entries"


class DeadLetter(Entry):
    """An entry that is a dead letter, with its own list in the admin."""

    class Meta:
        proxy = True
        verbose_name = "dead letter"


class EntryAttempt(Attempt):
    work = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="history", db_index=False)


class Effect(models.Model):
    """Nothing but the engine keeps an entry from having two."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="effects")

    objects: ClassVar[models.Manager[Effect]]

    def __str__(self) -> str:
        return f"of {self.entry}"
