"""The parts of a message: text, links and types of changes. Pure."""
