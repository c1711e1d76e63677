"""Jobs: work for one person that looks something up, decides whether to speak, and keeps the evidence."""
