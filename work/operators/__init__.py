"""For operators: how work goes, problems as they come, and a summary each day."""
