"""Flows of tests with processes."""
