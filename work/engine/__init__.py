"""From claim to settlement, and what rescues what was left behind."""
