"""Boards of gauges."""

from .model import Board, Gauge, Limits
from .saved import Damaged, load, save

__all__ = ["Board", "Damaged", "Gauge", "Limits", "load", "save"]
