"""Flows of tests."""
