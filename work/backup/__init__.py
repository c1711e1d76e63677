"""Backups: the database and the keys in one encrypted file, in a folder or in S3."""


class BackupError(Exception):
    """A backup cannot be made or read. The message is one line for operators, without secrets."""
