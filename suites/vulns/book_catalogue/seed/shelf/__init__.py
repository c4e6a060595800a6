"""The catalogue of a small library."""

from .catalogue import Catalogue
from .terminal import answer, serve

__all__ = ["Catalogue", "answer", "serve"]
