"""Looking for a setting."""


def lookup(name, sections, default):
    """Return the setting from the first section that has it."""
    for section in sections:
        if name in section:
            return section[name]
    return default
