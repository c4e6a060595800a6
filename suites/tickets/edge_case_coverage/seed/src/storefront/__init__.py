"""The public side of a shop."""
