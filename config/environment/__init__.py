"""Readers of environment variables and addresses of engines."""
