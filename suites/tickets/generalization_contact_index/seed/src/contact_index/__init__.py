"""A directory of volunteers."""
