"""Civil time, names of zones, and dates and lengths of time as people write them."""
