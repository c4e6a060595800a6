"""Settings of the service."""
