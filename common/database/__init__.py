"""PostgreSQL beneath Django: statements, ids, triggers, CHECKs, group commit, damaged rows."""
