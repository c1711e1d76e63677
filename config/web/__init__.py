"""What a request passes before and after Django."""
