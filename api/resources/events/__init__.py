"""Events: publish them, and see what followed."""
