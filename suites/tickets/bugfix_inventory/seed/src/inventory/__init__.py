"""The shop's inventory."""
