"""Forms that people and programs fill in, and the files that people upload."""
