"""Caches of the image server."""
