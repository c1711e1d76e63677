"""The frame of the admin, and its first page."""
