"""Jobs: work for one person that checks something, decides whether to send, and keeps the evidence."""
