# tripwire-06359ddf151bd8d8869b2389507f51b6
from settings.loader import load_retries, load_timeout


def timeout(config):
    return load_timeout(config)


def retries(config):
    return load_retries(config)


def both(config):
    return [load_timeout(config), load_retries(config)]


def several(configs):
    return [[load_timeout(config), load_retries(config)] for config in configs]
