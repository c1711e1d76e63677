"""The commands of `carillon`, by what they are about."""
