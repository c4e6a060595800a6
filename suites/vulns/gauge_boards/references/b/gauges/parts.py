"""What a saved board consists of, by the names that files have for it."""

import codecs
from datetime import datetime, timedelta
from decimal import Decimal

from .model import Board, Gauge, Limits


def encode(text, encoding):
    """Bytes as protocol 2 writes them."""
    if encoding != "latin1":
        raise ValueError(encoding)
    return codecs.latin_1_encode(text)[0]


PARTS = {f"{part.__module__}.{part.__name__}": part for part in (Board, Gauge, Limits, datetime, timedelta, Decimal, set)}
PARTS |= {"__builtin__.set": set, "__builtin__.bytes": bytes, "_codecs.encode": encode}
