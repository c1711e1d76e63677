"""The kinds of connection: what a person can connect, for jobs to check. To add one, add its file."""

from common.registry import Registry
from jobs.connections.base import ConnectionKind

registry: Registry[ConnectionKind] = Registry(ConnectionKind, [__name__], "name")
all, find, label = registry.all, registry.find, registry.label
