"""Answer requests for the documents in a folder."""

from .room import Room
from .server import answer, serve

__all__ = ["Room", "answer", "serve"]
