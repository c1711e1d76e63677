"""Child processes, and the server that runs them all in one terminal."""
