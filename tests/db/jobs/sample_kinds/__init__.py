"""Kinds of job for tests."""
