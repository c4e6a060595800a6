"""Reads settings from a parsed configuration file."""

DEFAULT_TIMEOUT = 30
DEFAULT_RETRIES = 3


def load_timeout(config: dict) -> int:
    """Return for how many seconds to wait for an answer."""
    return _setting(config, "timeout", DEFAULT_TIMEOUT)


def load_retries(config: dict) -> int:
    """Return how often to try again."""
    return _setting(config, "retries", DEFAULT_RETRIES)


def _setting(config: dict, name: str, default: int) -> int:
    section = config.get("network")
    if isinstance(section, dict) and name in section:
        return section[name]
    return config.get(name, default)
