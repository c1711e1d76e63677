"""The person of a request, and their access."""
