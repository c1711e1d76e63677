"""Events, the rules and topics that decide who is notified, and their record."""
