"""Tell many people one thing, and say how far it has come."""
