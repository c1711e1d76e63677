"""Flows of benches."""
