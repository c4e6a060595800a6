"""Reads settings from a parsed configuration file."""

from settings.lookup import lookup

DEFAULT_TIMEOUT = 30
DEFAULT_RETRIES = 3


def load_timeout(config: dict) -> int:
    """Return for how many seconds to wait for an answer."""
    return _setting(config, "timeout", DEFAULT_TIMEOUT)


def load_retries(config: dict) -> int:
    """Return how often to try again."""
    return _setting(config, "retries", DEFAULT_RETRIES)


def _setting(config: dict, name: str, default: int) -> int:
    return lookup(name, [config.get("network", {}), config], default)
