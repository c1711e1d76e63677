"""Pages and forms of accounts."""
