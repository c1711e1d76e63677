"""Read a reminder from one line, such as "water the plants every Sunday 18:00". Pure."""

from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.meaning import Understood, read
from schedules.inputs.sentences.pieces import languages
from schedules.inputs.sentences.sentence import early

__all__ = ["NotUnderstood", "Understood", "early", "languages", "read"]
