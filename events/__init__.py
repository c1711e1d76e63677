"""What happened: events, the rules and topics that say whom they ring for, and their record."""
