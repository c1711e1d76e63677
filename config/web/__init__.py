"""Steps of a request before and after Django."""
