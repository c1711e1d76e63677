"""What every test stands on: real PostgreSQL and Redis, and plain functions that make rows."""
