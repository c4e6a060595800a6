"""What can go wrong with a transfer."""


class TransferRefused(Exception):
    """The transfer names accounts that do not exist."""
