"""Fills templates with values."""

from templating.render.fill import render

__all__ = ["render"]
