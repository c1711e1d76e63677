"""Signing in: passwords, second factors, sessions, devices, and the log of security."""
