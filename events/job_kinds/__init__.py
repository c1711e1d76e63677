"""Kinds of job that need events; see `jobs.kinds`."""
