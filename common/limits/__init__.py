"""How much a person or a receiver may ask for at a time, counted in Redis."""
