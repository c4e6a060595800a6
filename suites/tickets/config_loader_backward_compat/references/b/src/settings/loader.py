"""Reads settings from a parsed configuration file."""

DEFAULTS = {"timeout": 30, "retries": 3}


def load_timeout(config: dict) -> int:
    """Return for how many seconds to wait for an answer."""
    return _modern(config)["timeout"]


def load_retries(config: dict) -> int:
    """Return how often to try again."""
    return _modern(config)["retries"]


def _modern(config: dict) -> dict:
    """Return the network section that a file in the new form would have."""
    return DEFAULTS | config | config.get("network", {})
