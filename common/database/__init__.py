"""PostgreSQL beneath Django: statements, triggers, CHECKs, group commit, secrets at rest, damaged rows."""
