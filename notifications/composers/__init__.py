"""Composers decide at fire time what to say. One file each."""
