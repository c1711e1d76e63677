"""Logic without a database: envelopes, types, signatures, and whether an event fits a rule."""
