"""What people change: one schedule, many, and what is deleted."""
