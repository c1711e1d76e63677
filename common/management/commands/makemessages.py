"""`manage.py makemessages`, as `script/translate` calls it."""

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    # A text that has changed is translated anew: a guess from a similar one would be wrong, and nobody would see it.
    msgmerge_options = [*makemessages.Command.msgmerge_options, "--no-fuzzy-matching"]
